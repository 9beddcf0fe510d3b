import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'
import type { StagedVersion } from '../../../../test/conformance/staged-versions.ts'
import { committer, leftBehind } from '../support/staged-manifests.ts'

async function withTables() {
  const backend = await runningBackend()
  await backend.post('/v1/namespace/n/create', {})
  const [a, b] = [await backend.createTable('a'), await backend.createTable('n$b')]
  return {
    ...backend,
    a,
    b,
    batchCreate: (entries: unknown) => backend.post('/v1/table/version/batch-create', { entries }),
    batchCommit: (operations: unknown) => backend.post('/v1/table/batch-commit', { operations }),
  }
}

const entry = (id: string[], request: StagedVersion) => ({ id, ...request })

it('creates versions of several tables, with results in the order of the request', async () => {
  const { a, b, batchCreate, post, dataFolder } = await withTables()
  const [one, other] = [await committer(a), await committer(b)]
  const [a2, a3, b2] = [await one.stage(), await one.stage(), await other.stage()]
  const entries = [
    { ...entry(['a'], a3), metadata: { author: 'ann' } },
    entry(['n', 'b'], b2),
    entry(['a'], a2),
  ]
  const { status, json } = await batchCreate(entries)
  expect(status).toBe(200)
  const describe = async (id: string, version: number) =>
    ((await post(`/v1/table/${id}/version/describe`, { version })).json as { version: unknown }).version
  expect(json).toEqual({
    versions: [await describe('a', 3), await describe('n$b', 2), await describe('a', 2)],
  })
  expect(json).toMatchObject({ versions: [{ version: 3, metadata: { author: 'ann' } }, {}, {}] })
  expect(await post('/v1/table/a/count_rows', {})).toEqual(responseOf(5))
  expect(await post('/v1/table/n$b/count_rows', {})).toEqual(responseOf(4))
  expect(await leftBehind(dataFolder, [a, b])).toEqual([])
})

it('repeats the success of a replayed batch', async () => {
  const { a, b, batchCreate, restart } = await withTables()
  const entries = [
    entry(['a'], await (await committer(a)).stage()),
    entry(['n', 'b'], await (await committer(b)).stage()),
  ]
  const first = await batchCreate(entries)
  await restart()
  expect(await batchCreate(entries)).toEqual(responseOf(first.json))
  expect(await batchCreate(entries.slice(0, 1))).toEqual(
    responseOf({ versions: (first.json as { versions: unknown[] }).versions.slice(0, 1) }),
  )
})

it('a batch can declare, create, delete and deregister together', async () => {
  const { b, post, get, batchCommit, versionsOf } = await withTables()
  await post('/v1/table/a/insert', streamOf(orders(1)))
  await post('/v1/table/old/declare', { properties: { x: '1' } })
  const staged = await (await committer(b)).stage()
  const { status, json } = await batchCommit([
    { deregister_table: { id: ['old'] } },
    { delete_table_versions: { id: ['a'], ranges: [{ start_version: 0, end_version: 2 }] } },
    { declare_table: { id: ['n', 'new'], properties: { y: '2' } } },
    { create_table_version: { id: ['n', 'b'], ...staged }, declare_table: null },
    { declare_table: { id: ['old'] } },
  ])
  expect(status).toBe(200)
  const location = expect.stringMatching(/\.lance$/) as string
  const { version } = (await post('/v1/table/n$b/version/describe', { version: 2 })).json as {
    version: unknown
  }
  expect(json).toEqual({
    results: [
      { deregister_table: { id: ['old'], location, properties: { x: '1' } } },
      { delete_table_versions: { deleted_count: 1 } },
      { declare_table: { location, properties: { y: '2' }, managed_versioning: true } },
      { create_table_version: { version } },
      { declare_table: { location, properties: {}, managed_versioning: true } },
    ],
  })
  expect(await versionsOf('a')).toEqual([2])
  expect(await get('/v1/table')).toEqual(responseOf({ tables: ['a', 'n$b', 'n$new', 'old'] }))
})

it('rejects a batch with one invalid change', async () => {
  const { a, b, post, get, batchCommit, versionsOf, dataFolder } = await withTables()
  const client = await committer(a)
  const [a2, a3] = [await client.stage(), await client.stage()]
  const b2 = await (await committer(b)).stage()
  const closed = await (await committer(b)).stage()
  await rm(`/${closed.manifest_path}`)
  const good = [
    { declare_table: { id: ['n', 'new'] } },
    { create_table_version: entry(['n', 'b'], b2) },
    { deregister_table: { id: ['old'] } },
  ]
  await post('/v1/table/old/declare', {})
  const refused: [unknown, ReturnType<typeof errorOf>][] = [
    [{ create_table_version: entry(['a'], a3) }, errorOf('ConcurrentModification')],
    [{ create_table_version: entry(['x'], a2) }, errorOf('TableNotFound')],
    [{ create_table_version: entry(['y', 'x'], a2) }, errorOf('NamespaceNotFound')],
    [{ create_table_version: entry(['n', 'b'], b2) }, errorOf('InvalidInput')],
    [{ create_table_version: entry(['a'], b2) }, errorOf('InvalidInput')],
    [{ create_table_version: { ...entry(['a'], a2), manifest_size: 7 } }, errorOf('InvalidInput')],
    [{ create_table_version: { ...entry(['a'], closed), version: 2 } }, errorOf('InvalidInput')],
    [{ create_table_version: { ...a2 } }, errorOf('InvalidInput')],
    [{ create_table_version: { ...entry([], a2) } }, errorOf('InvalidInput')],
    [{ create_table_version: { ...entry(['a', ''], a2) } }, errorOf('InvalidInput')],
    [{ declare_table: { id: ['a'] } }, errorOf('TableAlreadyExists')],
    [{ declare_table: { id: ['n', 'new'] } }, errorOf('TableAlreadyExists')],
    [{ declare_table: { id: ['z', 'new'] } }, errorOf('NamespaceNotFound')],
    [{ declare_table: { id: ['n2'], location: '/tmp/x.lance' } }, errorOf('InvalidInput')],
    [{ deregister_table: { id: ['x'] } }, errorOf('TableNotFound')],
    [{ deregister_table: { id: ['old'] } }, errorOf('InvalidInput')],
    [{ deregister_table: { id: ['n', 'b'] } }, errorOf('InvalidInput')],
    [
      { delete_table_versions: { id: ['a'], ranges: [{ start_version: 1, end_version: 2 }] } },
      errorOf('InvalidInput'),
    ],
    ['declare', errorOf('InvalidInput')],
  ]
  for (const [operation, error] of refused) {
    for (const operations of [
      [...good, operation],
      [operation, ...good],
    ]) {
      expect(await batchCommit(operations), JSON.stringify(operation)).toEqual(error)
    }
  }
  expect(await get('/v1/table')).toEqual(responseOf({ tables: ['a', 'n$b', 'old'] }))
  expect([await versionsOf('a'), await versionsOf('n$b')]).toEqual([[1], [1]])
  expect(await readdir(join(dataFolder, 'commits'))).toEqual([])
  expect((await batchCommit([...good, { create_table_version: entry(['a'], a2) }])).status).toBe(200)
})

it('lets exactly one of many batches for the same versions win, in any order', async () => {
  const { a, b, batchCreate, post, versionsOf } = await withTables()
  const pairs = await Promise.all(
    Array.from({ length: 4 }, async () => [await committer(a), await committer(b)] as const),
  )
  for (let round = 0; round < 8; round += 1) {
    const batches = await Promise.all(
      pairs.map(async ([one, other], index) => {
        const entries = [entry(['a'], await one.stage()), entry(['n', 'b'], await other.stage())]
        return index % 2 === 0 ? entries : entries.toReversed()
      }),
    )
    const single = post('/v1/table/a/describe', { load_detailed_metadata: true })
    const statuses = (await Promise.all(batches.map(batchCreate))).map(({ status }) => status)
    expect((await single).status).toBe(200)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(3)
  }
  expect(await versionsOf('a')).toEqual(await versionsOf('n$b'))
  expect(await post('/v1/table/a/count_rows', {})).toEqual(responseOf(11))
})

it('keeps one chain of versions for batches and other writes', async () => {
  const { a, b, batchCreate, post } = await withTables()
  let committed = 0
  for (let round = 1; round <= 6; round += 1) {
    const entries = [
      entry(['n', 'b'], await (await committer(b)).stage()),
      entry(['a'], await (await committer(a)).stage()),
    ]
    const [inserted, { status }] = await Promise.all([
      post('/v1/table/a/insert', streamOf(orders(1))),
      batchCreate(entries),
    ])
    expect(inserted.status).toBe(200)
    expect([200, 409]).toContain(status)
    if (status === 200) committed += 1
    expect(await post('/v1/table/a/count_rows', {})).toEqual(responseOf(3 + round + committed))
    expect(await post('/v1/table/n$b/count_rows', {})).toEqual(responseOf(3 + committed))
  }
})
