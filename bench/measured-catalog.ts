import { randomUUID } from 'node:crypto'
import { copyFile, cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RecordBatchStreamWriter, tableFromArrays } from 'apache-arrow'
import { sql } from 'kysely'
import { pino } from 'pino'
import { backendSettingsSchema } from '../src/backend/settings/backend-settings.ts'
import type { Engine } from '../src/backend/engine/lancedb-engine.ts'
import { formatManifestName } from '../src/backend/engine/manifest/manifest-files.ts'
import { chooseLocation, insertObject, updateObject } from '../src/backend/database/objects.ts'
import { openDatabase } from '../src/backend/database/open-database.ts'
import type { CatalogDatabase } from '../src/backend/database/schema.ts'
import { finishVersion, recordVersion } from '../src/backend/database/versions.ts'
import { freePort } from '../test/support/free-port.ts'
import { startServer, type ServerProcess } from './server-process.ts'

export interface CatalogStart {
  readonly name: string
  readonly folder: string
  /** Number of declared tables, a tenth of them in the namespace `crowd`; there are half as many namespaces. */
  readonly tables: number
  /** URL of a PostgreSQL database; the default store is SQLite. */
  readonly postgresUrl: string | undefined
  readonly engine: Engine
}

export interface MeasuredCatalog {
  readonly server: ServerProcess
  /** Number of tables in `crowd`: `t000000` and so on. */
  readonly crowd: number
  /** Stages `count` manifests for the table `rows`; returns the request bodies that commit them in order. */
  readonly stage: (count: number) => Promise<readonly object[]>
}

const program = fileURLToPath(new URL('../src/backend/test/support/catalog-process.ts', import.meta.url))
const tablesOfNamespace = 2

export function nameOf(index: number): string {
  return `t${String(index).padStart(6, '0')}`
}

/**
 * Fills the store of a catalog and starts the catalog. The table `rows` has a hundred rows, and as many versions as
 * `crowd` has tables.
 */
export async function startCatalog(start: CatalogStart): Promise<MeasuredCatalog> {
  const { name, postgresUrl } = start
  const port = await freePort()
  const folder = join(start.folder, name)
  const settings = {
    listen: { port },
    log: { level: 'error' },
    data: { folder },
    ...(postgresUrl !== undefined && { store: { postgres: { url: postgresUrl, schema: name } } }),
  }
  const opened = await openDatabase(backendSettingsSchema.parse(settings), pino({ level: 'silent' }))
  const crowd = Math.max(10, start.tables / 10)
  const location = await opened.transact(async (database) => {
    await addTables(database, crowd, start.tables - crowd)
    return join(folder, await addRows(database, crowd))
  })
  if (postgresUrl !== undefined) await sql`analyze`.execute(opened.database)
  await opened.close()
  await start.engine.create(location, streamOf(100), 'create')
  const stage = await stager(start.engine, location, `${folder}-copy.lance`)
  const command = [
    process.execPath,
    '--import',
    import.meta.resolve('tsx'),
    program,
    JSON.stringify(settings),
  ] as const
  return {
    server: await startServer({ name, folder: start.folder, command, port, core: undefined }),
    crowd,
    stage,
  }
}

async function addTables(database: CatalogDatabase, crowd: number, others: number): Promise<void> {
  await insertObject(database, ['crowd'], {})
  for (let index = 0; index < crowd; index += 1) await declare(database, ['crowd', nameOf(index)])
  for (let index = 0; index < others; index += 1) {
    const namespace = `n${Math.floor(index / tablesOfNamespace)}`
    if (index % tablesOfNamespace === 0) await insertObject(database, [namespace], {})
    await declare(database, [namespace, nameOf(index % tablesOfNamespace)])
  }
}

async function declare(database: CatalogDatabase, id: readonly string[]) {
  const table = { ...chooseLocation(), state: 'declared' } as const
  if (!(await insertObject(database, id, { owner: 'ann', team: 'search' }, table)))
    throw new Error(`the table ${id.join('$')} is there already`)
  return table
}

/** Past versions exist in the store only, not in storage: they precede the first one. */
async function addRows(database: CatalogDatabase, past: number): Promise<string> {
  const { objectId, location } = await declare(database, ['rows'])
  await updateObject(database, objectId, { state: 'ready' })
  for (let version = -past; version < 0; version += 1) {
    const key = { objectId, branch: 'main', version }
    await recordVersion(database, {
      ...key,
      keptName: 'none',
      stagingPath: `${location}/${version}`,
      manifestSize: 1000,
      eTag: null,
      namingScheme: 'V2',
      metadata: { author: 'ann' },
    })
    await finishVersion(database, key)
  }
  return location
}

/** Writes to a copy of the table, so that the original gets no commit. */
async function stager(engine: Engine, location: string, copy: string): Promise<MeasuredCatalog['stage']> {
  await cp(location, copy, { recursive: true })
  return async (count) => {
    const staged: object[] = []
    for (let index = 0; index < count; index += 1) {
      const { version } = await engine.insert(copy, streamOf(1), 'append')
      const name = formatManifestName(version, 'V2')
      const staging = join(location, '_versions', `${name}-${randomUUID()}`)
      await copyFile(join(copy, '_versions', name), staging)
      staged.push({ version, manifest_path: staging.slice(1), naming_scheme: 'V2' })
    }
    for (const file of await readdir(join(copy, 'data'))) {
      await copyFile(join(copy, 'data', file), join(location, 'data', file))
    }
    return staged
  }
}

function streamOf(rows: number): Uint8Array {
  const ids = Int32Array.from({ length: rows }, (_, index) => index)
  return RecordBatchStreamWriter.writeAll(tableFromArrays({ id: ids })).toUint8Array(true)
}
