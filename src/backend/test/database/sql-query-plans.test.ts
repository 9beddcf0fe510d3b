import { join } from 'node:path'
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import Libsql from 'libsql'
import { expect, onTestFinished, it } from 'vitest'
import {
  countUnfinishedJobs,
  deleteJobsEndedBefore,
  listJobs,
  listUnfinishedJobs,
} from '../../database/jobs.ts'
import { listNamespaceNames, listTableNames, listTablePaths } from '../../database/objects.ts'
import {
  hasChildren,
  listUnfinishedCreations,
  removeNamespace,
  hasPendingChanges,
} from '../../database/removals.ts'
import { openSqlite } from '../../database/open-database.ts'
import type { CatalogDatabase, CatalogTables } from '../../database/schema.ts'
import {
  findVersionMetadata,
  deleteVersionRecordsBefore,
  listRecordedVersions,
} from '../../database/versions.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

type Query = (database: CatalogDatabase) => Promise<unknown>

const page = { after: 'm', limit: 10 }
const first = { after: undefined, limit: 10 }

const by = (index: string) => expect.stringContaining(index) as string

/** Queries and their plans: each reads only the wanted rows, in the wanted order. */
const plans: readonly (readonly [query: Query, ...steps: readonly string[]])[] = [
  [(db) => listNamespaceNames(db, 'n', page), by('objects_by_kind (parent_path=? AND kind=? AND name>?)')],
  [(db) => listTableNames(db, 'n', true, page), by('objects_by_kind (parent_path=? AND kind=? AND name>?)')],
  [(db) => listTableNames(db, 'n', false, page), by('objects_ready (parent_path=? AND name>?)')],
  [(db) => listTablePaths(db, true, page), by('objects_tables (path>?)')],
  [(db) => listTablePaths(db, true, first), 'SCAN objects USING INDEX objects_tables'],
  [(db) => listTablePaths(db, false, page), by('objects_all_ready (path>?)')],
  [listUnfinishedCreations, 'SCAN objects USING INDEX objects_creating'],
  [(db) => hasChildren(db, 'n'), by('sqlite_autoindex_objects_4 (parent_path=?)')],
  [(db) => listRecordedVersions(db, 'id'), by('table_versions_recorded (object_id=?)')],
  [
    (db) => findVersionMetadata(db, 'id', 'main', [7, 9]),
    by('(object_id=? AND branch=? AND version>? AND version<?)'),
  ],
  [
    (db) => deleteVersionRecordsBefore(db, 'id', 'main', 7),
    by('table_versions_plain (object_id=? AND branch=? AND version<?)'),
  ],
  [listUnfinishedJobs, by('jobs_by_end (ended_at=?)')],
  [countUnfinishedJobs, by('COVERING INDEX jobs_by_end (ended_at=?)')],
  [(db) => deleteJobsEndedBefore(db, 7), by('jobs_by_end (ended_at<?)')],
  [(db) => listJobs(db, page), by('sqlite_autoindex_jobs_1 (job_id>?)')],
]

it('every query reads only the requested rows', async () => {
  const planOf = await openPlanner()
  for (const [query, ...steps] of plans) expect(await planOf(query), String(query)).toEqual(steps)
  const searchBelow = expect.stringMatching(/^SEARCH objects .*\(path>\? AND path<\?\)$/) as string
  expect(await planOf((db) => removeNamespace(db, 'n'))).toContainEqual(searchBelow)
  const pending = await planOf((db) => hasPendingChanges(db, 'id'))
  expect(pending).toContainEqual(by('table_versions_recorded (object_id=?)'))
  expect(pending).toContainEqual(expect.stringMatching(/^SEARCH doomed_versions .*\(object_id=\?\)$/))
})

async function openPlanner() {
  const file = join(await temporaryFolder(), 'catalog.sqlite')
  await (await openSqlite(file)).destroy()
  const connection = new Libsql(file)
  onTestFinished(() => {
    connection.close()
  })
  return async (query: Query): Promise<string[]> => {
    const { sql, parameters } = await compiled(query)
    const rows = connection.prepare(`explain query plan ${sql}`).all(...parameters) as { detail: string }[]
    return rows.map(({ detail }) => detail)
  }
}

/** Compiles the last query that is sent to an empty database. */
async function compiled(query: Query): Promise<CompiledQuery> {
  const sent: CompiledQuery[] = []
  const database = new Kysely<CatalogTables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (introspected) => new SqliteIntrospector(introspected),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    log: (event) => {
      sent.push(event.query)
    },
  })
  await query(database)
  const last = sent.at(-1)
  if (last === undefined) throw new Error('nothing was sent to the database')
  return last
}
