import { Int32, Table, tableFromIPC, Utf8, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import { queryTableRequestSchema } from '../../../schemas/query.ts'
import { freshEngine, streamOf } from '../sample-tables.ts'

/** Rows with texts that by default are short at first and long at the end, so that windows grow and shrink. */
function texts(
  count: number,
  first: number,
  textOf = (id: number) => `${id} `.repeat(1 + Math.floor(id / 50)),
): Table {
  const ids = Array.from({ length: count }, (_, index) => first + index)
  return new Table({
    id: vectorFromArray(ids, new Int32()),
    text: vectorFromArray(ids.map(textOf), new Utf8()),
  })
}

/** A table of 20,000 rows and 24 MB in fragments of different sizes, with deleted and updated rows. */
async function scatteredTable() {
  const table = await freshEngine()
  const { engine, location } = table
  await engine.create(location, streamOf(texts(10, 0)), 'create')
  for (
    let first = 10, count = 10;
    first < 20_000;
    first += count, count = Math.min(2 * count, 20_000 - first)
  ) {
    await engine.insert(location, streamOf(texts(count, first)), 'append')
  }
  await engine.delete({ location }, 'id % 7 = 3 OR id BETWEEN 5000 AND 9000')
  await engine.update({ location }, 'id % 11 = 0', [['text', "'changed'"]])
  return table
}

function idsOf(response: Table): number[] {
  return Array.from(response.getChild('id')?.toArray() as Int32Array)
}

it("returns every row once in a windowed scan, in the engine's order", async () => {
  const { query, engine, location } = await scatteredTable()
  const response = await query({})
  expect(response.numRows).toBe(await engine.count({ location }))
  // A filter makes the engine read the table in one scan.
  const atOnce = await query({ filter: 'id >= 0' })
  expect(idsOf(response)).toEqual(idsOf(atOnce))
  expect(response.getChild('text')?.toJSON()).toEqual(atOnce.getChild('text')?.toJSON())
})

it('applies offset and limit across windows', async () => {
  const { query } = await scatteredTable()
  const all = idsOf(await query({ columns: ['id'] }))
  for (const [offset, k] of [
    [0, 15],
    [3, 16],
    [0, 17],
    [1000, 5000],
    [13_000, undefined],
    [14_500, 5000],
    [40_000, 10],
    [2 ** 32, undefined],
  ] as const) {
    const response = await query({ offset, k, columns: ['id'] })
    expect(response.schema.names).toEqual(['id'])
    expect(idsOf(response)).toEqual(all.slice(offset, k && offset + k))
  }
})

it('returns a consistent snapshot during concurrent writes', async () => {
  const { engine, location, query } = await scatteredTable()
  const before = idsOf(await query({}))
  const response = await engine.query({ location }, queryTableRequestSchema.parse({}))
  await engine.delete({ location }, 'id > 100')
  await engine.insert(location, streamOf(texts(500, 20_000)), 'overwrite')
  const chunks: Uint8Array[] = []
  for await (const chunk of response) chunks.push(chunk)
  expect(chunks.length).toBeGreaterThan(10)
  expect(idsOf(tableFromIPC(Buffer.concat(chunks)))).toEqual(before)
  expect(await engine.count({ location })).toBe(500)
})

it('stops the query when the reader stops', async () => {
  const { engine, location } = await scatteredTable()
  const response = await engine.query({ location }, queryTableRequestSchema.parse({}))
  for await (const chunk of response) {
    expect(chunk.length).toBeGreaterThan(0)
    break
  }
  const rest = response[Symbol.asyncIterator]()
  expect(await rest.next()).toEqual({ done: true, value: undefined })
})

it('returns every row of a filter once where rows become large, with offset, limit and ids', async () => {
  const { engine, location, query } = await freshEngine()
  await engine.create(location, streamOf(texts(1000, 0, String)), 'create')
  await engine.insert(location, streamOf(texts(400, 1000, (id) => String(id).padEnd(40_000, 'x'))), 'append')
  await engine.delete({ location }, 'id % 7 = 3')
  const all = idsOf(await query({ columns: ['id'] }))
  for (const [offset, k] of [
    [0, undefined],
    [0, 900],
    [700, 400],
    [1190, 20],
  ] as const) {
    const response = await query({ filter: 'id >= 0', offset, k, with_row_id: true })
    expect(response.schema.names).toEqual(['id', 'text', '_rowid'])
    const expected = all.slice(offset, k && offset + k)
    expect(idsOf(response)).toEqual(expected)
    const read = response.getChild('text')?.toArray() as string[]
    expect(Array.from(read, (text) => Number.parseInt(text, 10))).toEqual(expected)
  }
  const computed = await query({ filter: 'id > 1390', columns: { next: 'id + 1' } })
  expect(Array.from(computed.getChild('next')?.toArray() as Int32Array)).toEqual(
    all.filter((id) => id > 1390).map((id) => id + 1),
  )
})
