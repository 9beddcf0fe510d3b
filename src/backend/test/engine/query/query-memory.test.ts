import { randomFillSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Field, FixedSizeList, Int32, makeData, Table, Uint8, Vector } from 'apache-arrow'
import { beforeAll, afterAll, expect, it } from 'vitest'
import { openEngine } from '../../../engine/lancedb-engine.ts'
import { startScript, type Program } from '../../../../../test/e2e/built-program.ts'
import { childrenOf } from '../../../../../test/e2e/process-tree.ts'
import { streamOf } from '../sample-tables.ts'
import { makeTemporaryFolder, removeFolder } from '../../../../../test/support/temporary-folder.ts'

const mebibyte = 1024 * 1024
const parts = 4
const rowsPerPart = 250_000
const dimensions = 128
/** The catalog as `catalog-gateway backend` runs it, with a table of four uploads of 33 MB. */
let catalog: Program
let url: string
let folder: string

/** Rows with an id and a vector, 132 bytes each, in one batch: pages in storage are as large as uploaded batches. */
function wideRows(): Table {
  const item = makeData({
    type: new Uint8(),
    data: randomFillSync(new Uint8Array(rowsPerPart * dimensions)),
  })
  const type = new FixedSizeList(dimensions, new Field('item', new Uint8(), true))
  const embedding = new Vector([makeData({ type, length: rowsPerPart, nullCount: 0, child: item })])
  return new Table({
    id: new Vector([
      makeData({ type: new Int32(), data: Int32Array.from({ length: rowsPerPart }, (_, row) => row) }),
    ]),
    embedding,
  })
}

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  const engine = openEngine()
  const location = join(folder, 'tables', 'wide.lance')
  const stream = streamOf(wideRows())
  await engine.create(location, stream, 'create')
  for (let part = 1; part < parts; part += 1) await engine.insert(location, stream, 'append')
  await engine.close()
  const file = join(folder, 'catalog.yaml')
  await writeFile(file, 'listen: { port: 0 }\ndata: { folder: . }\nlog: { level: error }\n')
  catalog = startScript(new URL('../../../../main.ts', import.meta.url), ['backend', '--config', file])
  url = await catalog.announced(/^listening on (http:\S+)$/m)
  await fetch(`${url}/v1/table/wide/register`, { method: 'POST', body: '{"location":"wide.lance"}' })
})

afterAll(async () => {
  catalog.signal('SIGTERM')
  expect(await catalog.ended).toMatchObject({ status: 0, messages: '' })
  await removeFolder(folder)
})

async function bytesOfResponse(query: object): Promise<number> {
  const body = JSON.stringify({ vector: [], k: Number.MAX_SAFE_INTEGER, ...query })
  const response = await fetch(`${url}/v1/table/wide/query`, { method: 'POST', body })
  if (response.body === null || response.status !== 200) throw new Error(await response.text())
  let bytes = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) bytes += chunk.length
  return bytes
}

/** The started process only supervises; returns the id of the child that runs the catalog. */
async function catalogPid(): Promise<number> {
  for (const pid of await childrenOf(catalog.pid)) {
    // The compiler of the sources is a child as well.
    if ((await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes('\0backend\0')) return pid
  }
  throw new Error('the catalog has no process of its own')
}

/** The current and the peak memory of a process in bytes. */
async function memoryOf(pid: number): Promise<{ now: number; most: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const read = (name: string): number =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1])
  return { now: read('VmRSS'), most: read('VmHWM') }
}

// Only Linux reports peak memory, and only there is the allocator configured to return memory.
it.skipIf(process.platform !== 'linux').for([
  ['all rows', 64, {}],
  ['all rows that pass a filter', 64, { filter: 'id >= 0' }],
  // The engine sorts all rows in memory.
  ['all sorted rows', 288, { order_by: [{ column_name: 'id', ascending: false }], k: 1_000_000 }],
] as const)('a query of %s of 1,000,000 raises memory by no more than %i MiB', async ([, limit, query]) => {
  const pid = await catalogPid()
  // Excludes what the first query of any size allocates.
  await bytesOfResponse({ ...query, k: 10_000 })
  const { now } = await memoryOf(pid)
  expect(await bytesOfResponse(query)).toBeGreaterThan(120 * mebibyte)
  const { most } = await memoryOf(pid)
  expect((most - now) / mebibyte).toBeLessThanOrEqual(limit)
})
