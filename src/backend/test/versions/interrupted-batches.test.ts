import { EventEmitter, once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, it } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { directOutbound } from '../../../outbound/outbound.ts'
import { tableLocation, type CatalogContext } from '../../catalog/context.ts'
import { catalogOperations } from '../../catalog/catalog-operations.ts'
import type { ResponseOf } from '../../schemas/operation-schemas.ts'
import { requireTable } from '../../catalog/find-table.ts'
import { openCatalog } from '../../catalog/open-catalog.ts'
import { findManifest } from '../../engine/manifest/manifest-files.ts'
import { operationSchemas } from '../../schemas/operation-schemas.ts'
import { openStorage } from '../../storage/open-storage.ts'
import type { Storage } from '../../storage/storage.ts'
import { backendSettings, usesPostgres } from '../support/backend-settings.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, runningBackend } from '../support/running-backend.ts'
import { committer, leftBehind } from '../support/staged-manifests.ts'

/** What a batch does to manifests, in order. */
type Step = 'retain' | 'publish' | 'remove'
type Around = <Result>(step: Step, work: () => Promise<Result>) => Promise<Result>

/** Opens a catalog whose changes of manifests pass through `around`. */
async function openOn(dataFolder: string, around: Around): Promise<CatalogContext> {
  return await openCatalog(
    backendSettings(dataFolder),
    pino({ level: 'silent' }),
    directOutbound,
    async (...parameters) => {
      const { storage, ...opened } = await openStorage(...parameters)
      const link: Storage['link'] = (from, to, eTag) =>
        around(to.includes('/_versions/') ? 'publish' : 'retain', () => storage.link(from, to, eTag))
      const remove: Storage['remove'] = (file) =>
        file.endsWith('.manifest') ? around('remove', () => storage.remove(file)) : storage.remove(file)
      return { ...opened, storage: { ...storage, link, remove } }
    },
  )
}

/** Creates two tables, one to declare, one to deregister, and a batch that changes all of them. */
async function withBatch() {
  const backend = await runningBackend()
  const { post, get, createTable, versionsOf } = backend
  const locations = [await createTable('a'), await createTable('b')] as const
  for (const id of ['a', 'b']) await post(`/v1/table/${id}/insert`, streamOf(orders(1)))
  await post('/v1/table/old/declare', {})
  const [one, other] = [await committer(locations[0]), await committer(locations[1])]
  const [a3, a4, b3] = [await one.stage(), await one.stage(), await other.stage()]
  const operations = [
    { create_table_version: { id: ['a'], ...a3 } },
    { declare_table: { id: ['new'] } },
    { create_table_version: { id: ['b'], ...b3 } },
    { create_table_version: { id: ['a'], ...a4 } },
    { delete_table_versions: { id: ['b'], ranges: [{ start_version: 1, end_version: 2 }] } },
    { deregister_table: { id: ['old'] } },
  ]
  /** Reads the state that clients can see. */
  const readState = async () => ({
    tables: ((await get('/v1/table')).json as { tables: string[] }).tables,
    rows: [(await get('/v1/table/a/count_rows')).json, (await get('/v1/table/b/count_rows')).json],
    versions: [await versionsOf('a'), await versionsOf('b')],
  })
  return { ...backend, locations, operations, staged: [a3, a4, b3], readState }
}

const before = {
  tables: ['a', 'b', 'old'],
  rows: [4, 4],
  versions: [
    [1, 2],
    [1, 2],
  ],
}
const after = {
  tables: ['a', 'b', 'new'],
  rows: [6, 5],
  versions: [
    [1, 2, 3, 4],
    [2, 3],
  ],
}

const moments = (['before', 'after'] as const).flatMap((when) => [
  ...[1, 2, 3].map((nth) => [when, 'retain', nth, before] as const),
  ...[1, 2, 3].map((nth) => [when, 'publish', nth, after] as const),
  [when, 'remove', 1, after] as const,
])

// PostgreSQL releases the locks of a process when it ends; killed-batches.test.ts kills real processes.
const withSqlite = it.skipIf(usesPostgres())

withSqlite.each(moments)(
  'keeps all or nothing of a batch that ends %s %s %i',
  async (when, step, nth, expected) => {
    const { stop, restart, post, dataFolder, locations, operations, staged, readState } = await withBatch()
    expect(await readState()).toEqual(before)
    await stop()
    const calls: string[] = []
    const process = new EventEmitter()
    const end = once(process, 'end')
    const never = (): Promise<never> => {
      process.emit('end')
      return new Promise(() => {})
    }
    const catalog = await openOn(dataFolder, async (name, work) => {
      calls.push(name)
      const isHere = name === step && calls.filter((call) => call === name).length === nth
      if (isHere && when === 'before') return await never()
      const result = await work()
      return isHere ? await never() : result
    })
    void execute(catalog, 'BatchCommitTables', { operations })
    await end
    await catalog.database.destroy()
    // The client may delete its files: the catalog has retained what it needs.
    if (expected === after)
      await Promise.all(staged.map(({ manifest_path }) => rm(`/${manifest_path}`, { force: true })))
    await restart()
    expect(await readState()).toEqual(expected)
    await eventually(async () => expect(await readdir(join(dataFolder, 'commits'))).toEqual([]))
    if (expected === after) {
      expect(await leftBehind(dataFolder, locations)).toEqual([])
    } else {
      // No manifest is lost: the same batch can be sent again.
      expect((await post('/v1/table/batch-commit', { operations })).status).toBe(200)
      expect(await readState()).toEqual(after)
    }
  },
)

type BatchResponse = ResponseOf<'BatchCommitTables'>

type Use = (catalog: CatalogContext) => Promise<unknown>

const uses: readonly [string, Use][] = [
  ['lists its versions', (catalog) => execute(catalog, 'ListTableVersions')],
  ['counts its rows', (catalog) => execute(catalog, 'CountTableRows')],
  ['inserts rows', (catalog) => execute(catalog, 'InsertIntoTable', {}, streamOf(orders(1)))],
  [
    'commits the next version',
    async (catalog) => {
      const location = tableLocation(catalog, await requireTable(catalog.database, ['a']))
      await execute(catalog, 'ListTableVersions')
      await execute(catalog, 'CreateTableVersion', await (await committer(location)).stage())
    },
  ],
]

/** Carries out an operation of the table `a`. */
async function execute(
  catalog: CatalogContext,
  name: keyof typeof operationSchemas,
  members: object = {},
  upload?: Uint8Array,
): Promise<unknown> {
  // The compiler relates operations to their types where requests are handled; here only the name is known.
  const operation = catalogOperations[name] as (context: CatalogContext, call: object) => Promise<unknown>
  const request = operationSchemas[name].request.parse(members)
  return await operation(catalog, { id: ['a'], request, upload, schemaDialect: 'namespace' })
}

it.each(uses)('finds a committed batch with unpublished manifests: %s', async (_what, use) => {
  const { stop, restart, get, dataFolder, operations, readState } = await withBatch()
  await stop()
  let isBroken = true
  const catalog = await openOn(dataFolder, (name, work) =>
    isBroken && name !== 'retain' ? Promise.reject(new Error('EIO')) : work(),
  )
  let isOpen = true
  const close = async () => {
    if (isOpen) await catalog.close()
    isOpen = false
  }
  onTestFinished(close)
  const { results } = (await execute(catalog, 'BatchCommitTables', { operations })) as BatchResponse
  expect(results[3]?.create_table_version?.version?.version).toBe(4)
  await expect(use(catalog)).rejects.toThrow()
  isBroken = false
  await use(catalog)
  const point = { location: locationOf(results), version: 4 }
  expect(await findManifest(catalog.storage, point)).toMatchObject({ version: 4 })
  await close()
  await restart()
  expect((await readState()).versions[1]).toEqual([2, 3])
  expect(await get('/v1/table/b/count_rows')).toEqual(responseOf(5))
})

/** The folder of the table that the last created version of the batch belongs to. */
function locationOf(results: BatchResponse['results']): string {
  return `/${results[3]?.create_table_version?.version?.manifest_path}`.replace(/\/_versions\/.*$/, '')
}
