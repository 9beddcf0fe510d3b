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
  listNewestJobs,
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

/** The allowed query plans: each query reads only the wanted rows, in the wanted order. */
const plans: readonly (readonly [name: string, query: Query, steps: readonly string[]])[] = [
  [
    'the namespaces of a namespace',
    (database) => listNamespaceNames(database, 'n', page),
    ['SEARCH objects USING COVERING INDEX objects_by_kind (parent_path=? AND kind=? AND name>?)'],
  ],
  [
    'the tables of a namespace',
    (database) => listTableNames(database, 'n', true, page),
    ['SEARCH objects USING INDEX objects_by_kind (parent_path=? AND kind=? AND name>?)'],
  ],
  [
    'the tables of a namespace that have data',
    (database) => listTableNames(database, 'n', false, page),
    ['SEARCH objects USING COVERING INDEX objects_ready (parent_path=? AND name>?)'],
  ],
  [
    'all tables',
    (database) => listTablePaths(database, true, page),
    ['SEARCH objects USING INDEX objects_tables (path>?)'],
  ],
  [
    'all tables from the first on',
    (database) => listTablePaths(database, true, first),
    ['SCAN objects USING INDEX objects_tables'],
  ],
  [
    'all tables that have data',
    (database) => listTablePaths(database, false, page),
    ['SEARCH objects USING COVERING INDEX objects_all_ready (path>?)'],
  ],
  [
    'the tables that are being created',
    listUnfinishedCreations,
    ['SCAN objects USING INDEX objects_creating'],
  ],
  [
    'whether something lies in a namespace',
    (database) => hasChildren(database, 'n'),
    ['SEARCH objects USING COVERING INDEX sqlite_autoindex_objects_4 (parent_path=?)'],
  ],
  [
    'remove a namespace',
    (database) => removeNamespace(database, 'n'),
    expect.arrayContaining([expect.stringMatching(/^SEARCH objects .*\(path>\? AND path<\?\)$/)]) as string[],
  ],
  [
    'the versions of a table that are not settled',
    (database) => listRecordedVersions(database, 'id'),
    ['SEARCH table_versions USING INDEX table_versions_recorded (object_id=?)'],
  ],
  [
    'the metadata of a page of versions',
    (database) => findVersionMetadata(database, 'id', 'main', [7, 9]),
    [expect.stringContaining('(object_id=? AND branch=? AND version>? AND version<?)')],
  ],
  [
    'the versions that no replay can name any more',
    (database) => deleteVersionRecordsBefore(database, 'id', 'main', 7),
    ['SEARCH table_versions USING INDEX table_versions_plain (object_id=? AND branch=? AND version<?)'],
  ],
  ['the unfinished jobs', listUnfinishedJobs, ['SEARCH jobs USING INDEX jobs_by_end (ended_at=?)']],
  [
    'the number of unfinished jobs',
    countUnfinishedJobs,
    ['SEARCH jobs USING COVERING INDEX jobs_by_end (ended_at=?)'],
  ],
  [
    'forget old jobs',
    (database) => deleteJobsEndedBefore(database, 7),
    [expect.stringMatching(/^SEARCH jobs USING .*INDEX jobs_by_end \(ended_at<\?\)$/) as string],
  ],
  [
    'a page of jobs',
    (database) => listJobs(database, page),
    ['SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (job_id>?)'],
  ],
  [
    'the newest jobs',
    (database) => listNewestJobs(database, 10),
    [
      'SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (job_id=?)',
      'LIST SUBQUERY 1',
      'SCAN jobs USING COVERING INDEX jobs_by_end',
      'USE TEMP B-TREE FOR ORDER BY',
    ],
  ],
  [
    'whether a table is unfinished',
    (database) => hasPendingChanges(database, 'id'),
    expect.arrayContaining([
      'SEARCH table_versions USING COVERING INDEX table_versions_recorded (object_id=?)',
      expect.stringMatching(/^SEARCH doomed_versions .*\(object_id=\?\)$/),
    ]) as string[],
  ],
]

it.each(plans)('%s: reads only the requested rows', async (_name, query, steps) => {
  const file = join(await temporaryFolder(), 'catalog.sqlite')
  await (await openSqlite(file)).destroy()
  const connection = new Libsql(file)
  onTestFinished(() => {
    connection.close()
  })
  const { sql, parameters } = await compiled(query)
  const rows = connection.prepare(`explain query plan ${sql}`).all(...parameters) as { detail: string }[]
  expect(rows.map(({ detail }) => detail)).toEqual(steps)
})

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
