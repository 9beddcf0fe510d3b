import type { Table } from '@lancedb/lancedb'
import { afterAll, expect, it } from 'vitest'
import { startDev } from './running-dev.ts'

const dev = await startDev()
afterAll(() => dev.remove())
const client = await dev.remoteClient()

let namespaces = 0

async function newNamespace(): Promise<string[]> {
  namespaces += 1
  const namespace = [`namespace-${namespaces}`]
  await client.createNamespace(namespace)
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

it('appends or replaces rows', async () => {
  const namespace = await newNamespace()
  const table = await client.createTable('people', people('Ada'), namespace)
  await table.add(people('Grace'))
  expect(await namesIn(table)).toEqual(['Ada', 'Grace'])
  await table.add(people('Katherine'), { mode: 'overwrite' })
  expect(await namesIn(table)).toEqual(['Katherine'])
  expect(await table.version()).toBe(3)
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
