import { createRequire } from 'node:module'
import type * as Arrow from 'apache-arrow'
import type { Connection, Table } from '@lancedb/lancedb'
import { afterAll, expect, it } from 'vitest'
import { startDev } from './running-dev.ts'

// The client uses the CommonJS build of apache-arrow, and rejects schemas of another instance.
const { Field, Int64, Schema, Utf8 } = createRequire(import.meta.url)('apache-arrow') as typeof Arrow

const dev = await startDev()
afterAll(() => dev.remove())
const client = await dev.remoteClient()

let namespaces = 0

async function newNamespace(connection: Connection = client): Promise<string[]> {
  namespaces += 1
  const namespace = [`namespace-${namespaces}`]
  await connection.createNamespace(namespace)
  return namespace
}

function people(...names: string[]): { id: number; name: string }[] {
  return names.map((name, index) => ({ id: index + 1, name }))
}

/** A pseudo-random vector, determined by the number. */
function vectorOf(id: number): number[] {
  return Array.from({ length: 8 }, (_, index) => Math.fround(Math.sin(id * 12.9898 + index * 78.233)))
}

async function namesIn(table: Table): Promise<string[]> {
  const rows = (await table.query().select(['name']).toArray()) as { name: string }[]
  return rows.map(({ name }) => name).toSorted()
}

it('namespaces are created, listed, described and dropped', async () => {
  const parent = await newNamespace()
  await client.createNamespace([...parent, 'b'], { properties: { owner: 'sales' } })
  await client.createNamespace([...parent, 'a'])
  expect((await client.listNamespaces(parent)).namespaces.toSorted()).toEqual(['a', 'b'])
  expect(await client.describeNamespace([...parent, 'b'])).toMatchObject({ properties: { owner: 'sales' } })
  await client.dropNamespace([...parent, 'a'])
  expect((await client.listNamespaces(parent)).namespaces).toEqual(['b'])
  await expect(client.describeNamespace([...parent, 'a'])).rejects.toThrow(/404/)
})

it('rejects an existing namespace unless the client allows it', async () => {
  const namespace = await newNamespace()
  await expect(client.createNamespace(namespace)).rejects.toThrow(/already exists/)
  await client.createNamespace(namespace, { mode: 'exist_ok' })
})

it('a namespace with tables is dropped with all of them, or not at all', async () => {
  const namespace = await newNamespace()
  await client.createTable('people', people('Ada'), namespace)
  await expect(client.dropNamespace(namespace)).rejects.toThrow(/not empty/)
  expect(await client.tableNames(namespace)).toEqual(['people'])
  await client.dropNamespace(namespace, { behavior: 'cascade' })
  await expect(client.tableNames(namespace)).rejects.toThrow(/404/)
})

it('returns the rows that were written', async () => {
  const namespace = await newNamespace()
  await client.createTable('people', people('Ada', 'Grace'), namespace)
  const table = await client.openTable('people', namespace)
  const rows = (await table.query().toArray()) as { id: number; name: string }[]
  expect(rows.map(({ id, name }) => ({ id, name }))).toEqual(people('Ada', 'Grace'))
})

it('keeps the schema of an empty table and accepts rows', async () => {
  const namespace = await newNamespace()
  const schema = new Schema([new Field('id', new Int64(), false), new Field('name', new Utf8(), true)])
  const table = await client.createEmptyTable('people', schema, namespace)
  expect(await table.countRows()).toBe(0)
  const { fields } = await (await client.openTable('people', namespace)).schema()
  expect(fields.map(({ name, type, nullable }) => `${name} ${type} ${nullable}`)).toEqual([
    'id Int64 false',
    'name Utf8 true',
  ])
  await table.add(people('Ada'))
  expect(await namesIn(table)).toEqual(['Ada'])
})

it('appends or replaces rows', async () => {
  const namespace = await newNamespace()
  const table = await client.createTable('people', people('Ada'), namespace)
  await table.add(people('Grace'))
  expect(await namesIn(table)).toEqual(['Ada', 'Grace'])
  await table.add(people('Katherine'), { mode: 'overwrite' })
  expect(await namesIn(table)).toEqual(['Katherine'])
  expect(await table.version()).toBe(3)
})

it('rows are counted, all of them or those of a filter', async () => {
  const table = await client.createTable('people', people('Ada', 'Grace', 'Alan'), await newNamespace())
  expect(await table.countRows()).toBe(3)
  expect(await table.countRows("name LIKE 'A%'")).toBe(2)
})

it('a query filters, selects, skips and limits', async () => {
  const rows = Array.from({ length: 50 }, (_, id) => ({ id, name: `person ${id}`, even: id % 2 === 0 }))
  const table = await client.createTable('people', rows, await newNamespace())
  const found = await table
    .query()
    .where('even AND id >= 20')
    .select(['id', 'name'])
    .offset(3)
    .limit(4)
    .toArray()
  expect(JSON.parse(JSON.stringify(found))).toEqual(
    [26, 28, 30, 32].map((id) => ({ id, name: `person ${id}` })),
  )
})

it('finds the nearest vectors', async () => {
  const rows = Array.from({ length: 500 }, (_, id) => ({ id, team: id % 3, vector: vectorOf(id) }))
  const table = await client.createTable('vectors', rows, await newNamespace())
  for (const wanted of [vectorOf(7), vectorOf(1000.5), [0, 0, 0, 0, 0, 0, 0, 1]]) {
    const distance = (vector: number[]): number =>
      vector.reduce((sum, value, index) => sum + (value - (wanted[index] ?? 0)) ** 2, 0)
    const expected = rows
      .filter(({ team }) => team === 1)
      .toSorted((a, b) => distance(a.vector) - distance(b.vector))
      .slice(0, 10)
    const query = table.query().nearestTo(wanted).where('team = 1').limit(10)
    const found = (await query.toArray()) as { id: number; _distance: number }[]
    expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
    for (const [index, { _distance }] of found.entries()) {
      expect(_distance).toBeCloseTo(distance(expected[index]?.vector ?? []), 4)
    }
  }
})

it('lists table names in pages without gaps or repeats', async () => {
  const namespace = await newNamespace()
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const name of names.toReversed()) await client.createTable(name, people('Ada'), namespace)
  const seen: string[] = []
  for (let page = ['']; page.length > 0;) {
    const startAfter = seen.at(-1)
    page = await client.tableNames(namespace, { limit: 2, ...(startAfter && { startAfter }) })
    expect(page.length).toBeLessThanOrEqual(2)
    seen.push(...page)
  }
  expect(seen).toEqual(names)
  expect((await client.tableNames(namespace)).toSorted()).toEqual(names)
})

it('a table is found in its own namespace only', async () => {
  const [one, other] = [await newNamespace(), await newNamespace()]
  await client.createTable('people', people('Ada'), one)
  expect(await client.tableNames(one)).toEqual(['people'])
  expect(await client.tableNames(other)).toEqual([])
  await expect(client.openTable('people', other)).rejects.toThrow(/^Table 'people' was not found/)
})

it('drops a table and frees its name', async () => {
  const namespace = await newNamespace()
  const table = await client.createTable('people', people('Ada'), namespace)
  await client.dropTable('people', namespace)
  await expect(client.openTable('people', namespace)).rejects.toThrow(/^Table 'people' was not found/)
  await expect(table.countRows()).rejects.toThrow(/not found/)
  await expect(client.dropTable('people', namespace)).rejects.toThrow(/404/)
  expect(await namesIn(await client.createTable('people', people('Grace'), namespace))).toEqual(['Grace'])
})

it('keeps an existing table unless it is overwritten', async () => {
  const namespace = await newNamespace()
  await client.createTable('people', people('Ada'), namespace)
  await expect(client.createTable('people', people('Grace'), namespace)).rejects.toThrow(
    /^Table 'people' already exists/,
  )
  const retained = await client.createTable('people', people('Grace'), namespace, { existOk: true })
  expect(await namesIn(retained)).toEqual(['Ada'])
  const replaced = await client.createTable('people', people('Alan'), namespace, { mode: 'overwrite' })
  expect(await namesIn(replaced)).toEqual(['Alan'])
})

it('reads an old version', async () => {
  const table = await client.createTable('people', people('Ada'), await newNamespace())
  await table.add(people('Grace'))
  await table.checkout(1)
  expect(await namesIn(table)).toEqual(['Ada'])
  await table.checkoutLatest()
  expect(await namesIn(table)).toEqual(['Ada', 'Grace'])
})

it('a renamed table keeps its rows', async () => {
  const namespace = await newNamespace()
  await client.createTable('people', people('Ada'), namespace)
  await client.renameTable('people', 'pioneers', { namespacePath: namespace })
  expect(await client.tableNames(namespace)).toEqual(['pioneers'])
  expect(await namesIn(await client.openTable('pioneers', namespace))).toEqual(['Ada'])
})

it('rejects changes of a read-only caller with 403', async () => {
  await client.createNamespace(['demo'])
  await client.createTable('people', people('Ada'), ['demo'])
  const analyst = await dev.remoteClient(await dev.createKey('somebody', '--group', 'analysts'))
  const table = await analyst.openTable('people', ['demo'])
  expect(await namesIn(table)).toEqual(['Ada'])
  await expect(table.add(people('Grace'))).rejects.toThrow(/403/)
  await expect(analyst.dropTable('people', ['demo'])).rejects.toThrow(/403/)
  await expect(analyst.createTable('more', people('Grace'), ['demo'])).rejects.toThrow(/403/)
  // Objects in other namespaces are concealed.
  await expect(analyst.openTable('people', await newNamespace())).rejects.toThrow(/was not found/)
  expect(await client.tableNames(['demo'])).toEqual(['people'])
  expect(await table.countRows()).toBe(1)
})

it('rejects a wrong key with 401', async () => {
  const stranger = await dev.remoteClient(`${dev.key}!`)
  await expect(stranger.tableNames()).rejects.toThrow(/401/)
})
