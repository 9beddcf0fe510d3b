import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Field, FixedSizeList, Float32, makeData, Table, vectorFromArray, Vector } from 'apache-arrow'
import { expect, test } from 'vitest'
import { freshEngine, streamOf } from './sample-tables.ts'

const program = fileURLToPath(new URL('query-memory-process.ts', import.meta.url))
const mebibyte = 1024 * 1024
const parts = 10
const rowsPerPart = 100_000
const dimensions = 64

/** Rows of an id and a vector: 260 bytes each, so that the answer is several times what memory may grow. */
function wideRows(): Table {
  const item = makeData({
    type: new Float32(),
    data: Float32Array.from({ length: rowsPerPart * dimensions }, Math.random),
  })
  const type = new FixedSizeList(dimensions, new Field('item', new Float32(), true))
  const embedding = new Vector([makeData({ type, length: rowsPerPart, nullCount: 0, child: item })])
  return new Table({
    id: vectorFromArray(Int32Array.from({ length: rowsPerPart }, (_, row) => row)),
    embedding,
  })
}

/*
 * Not met yet, so that this test is expected to fail, and is red as soon as it is met. Measured: 280 to 330 MiB for
 * this answer of 256 MiB, and 560 for one of 768. JavaScript holds little of it; the engine reads ahead of the client.
 */
test.fails('KNOWN GAP: a query of 1,000,000 rows raises memory by no more than 64 MiB', async () => {
  const { engine, location } = await freshEngine()
  const stream = streamOf(wideRows())
  await engine.create(location, stream, 'create')
  for (let part = 1; part < parts; part += 1) await engine.insert(location, stream, 'append')
  expect(await engine.count(location)).toBe(1_000_000)
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program, location])
  const { bytes, growth } = JSON.parse(stdout) as { bytes: number; growth: number }
  expect(bytes).toBeGreaterThan(200 * mebibyte)
  expect(growth / mebibyte).toBeLessThanOrEqual(64)
})
