import { tableFromIPC } from 'apache-arrow'
import type { Table } from 'apache-arrow'
import { expect, it } from 'vitest'
import { queryTableRequestSchema } from '../../../schemas/query.ts'
import { freshEngine, orders, streamOf } from '../sample-tables.ts'

const count = 100_000

it('streams 100,000 rows with vectors unchanged in many chunks', async () => {
  const { engine, location } = await freshEngine()
  await engine.create(location, streamOf(orders(count)), 'create')
  const chunks: Uint8Array[] = []
  for await (const chunk of await engine.query(location, queryTableRequestSchema.parse({})))
    chunks.push(chunk)
  expect(chunks.length).toBeGreaterThan(10)
  const response = tableFromIPC(Buffer.concat(chunks))
  expect(response.numRows).toBe(count)
  // A scan may return the parts of a table in any order.
  const ids = idsOf(response)
  expect(ids.toSorted()).toEqual(idsOf(orders(count)))
  const vectors = response.getChild('embedding')?.toArray() as ArrayLike<{ get(index: number): number }>
  const names = response.getChild('name')
  for (let row = 0; row < count; row += 997) {
    expect(vectors[row]?.get(0)).toBe(ids[row])
    expect(names?.get(row)).toBe(`order ${ids[row]}`)
  }
})

it('stops the query when the reader stops', async () => {
  const { engine, location } = await freshEngine()
  await engine.create(location, streamOf(orders(count)), 'create')
  const response = await engine.query(location, queryTableRequestSchema.parse({}))
  for await (const chunk of response) {
    expect(chunk.length).toBeGreaterThan(0)
    break
  }
  const rest = response[Symbol.asyncIterator]()
  expect(await rest.next()).toEqual({ done: true, value: undefined })
})

function idsOf(table: Table): Int32Array {
  return table.getChild('id')?.toArray() as Int32Array
}
