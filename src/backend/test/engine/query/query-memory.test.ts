import { randomBytes, randomFillSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  Field,
  FixedSizeList,
  Int32,
  makeData,
  Table,
  Uint8,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow'
import { beforeAll, afterAll, expect, it } from 'vitest'
import { startProgram, type Program } from '../../../../../test/e2e/built-program.ts'
import { childrenOf } from '../../../../../test/e2e/process-tree.ts'
import { openLocalEngine, streamOf } from '../sample-tables.ts'
import { makeTemporaryFolder, removeFolder } from '../../../../../test/support/temporary-folder.ts'

const mebibyte = 1024 * 1024
const parts = 4
const rowsPerPart = 250_000
const dimensions = 128
/** The catalog as `catalog-gateway backend` runs it, with two tables of four uploads of 33 and of 64 MB. */
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

/** 256 rows of 256 KiB each. */
function largeRows(): Table {
  const texts = Array.from({ length: 256 }, () => randomBytes(192 * 1024).toString('base64'))
  return new Table({
    id: vectorFromArray(
      texts.map((_text, row) => row),
      new Int32(),
    ),
    text: vectorFromArray(texts, new Utf8()),
  })
}

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  const engine = openLocalEngine()
  for (const [name, rows] of Object.entries({ wide: wideRows(), large: largeRows() })) {
    const location = join(folder, 'tables', `${name}.lance`)
    const stream = streamOf(rows)
    await engine.create(location, stream, 'create')
    for (let part = 1; part < parts; part += 1) await engine.insert(location, stream, 'append')
  }
  await engine.close()
  const file = join(folder, 'catalog.yaml')
  await writeFile(file, 'listen: { port: 0 }\ndata: { folder: . }\nlog: { level: error }\n')
  catalog = startProgram(['backend', '--config', file])
  url = await catalog.announced(/^listening on (http:\S+)$/m)
  for (const name of ['wide', 'large']) {
    const body = JSON.stringify({ location: `${name}.lance` })
    await fetch(`${url}/v1/table/${name}/register`, { method: 'POST', body })
  }
})

afterAll(async () => {
  catalog.signal('SIGTERM')
  expect(await catalog.ended).toMatchObject({ status: 0, messages: '' })
  await removeFolder(folder)
})

async function bytesOfResponse(query: object, table = 'wide'): Promise<number> {
  const body = JSON.stringify({ vector: [], k: Number.MAX_SAFE_INTEGER, ...query })
  const response = await fetch(`${url}/v1/table/${table}/query`, { method: 'POST', body })
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
  ['all large rows that pass a filter', 96, { filter: 'id >= 0' }, 'large'],
  // The engine sorts all rows in memory.
  ['all sorted rows', 288, { order_by: [{ column_name: 'id', ascending: false }], k: 1_000_000 }],
] as const)('a query of %s raises memory by no more than %i MiB', async ([, limit, query, table]) => {
  const pid = await catalogPid()
  // Excludes what the first query of any size allocates.
  await bytesOfResponse({ ...query, k: table ? 50 : 10_000 }, table)
  // Resets the peak.
  await writeFile(`/proc/${pid}/clear_refs`, '5')
  const { now } = await memoryOf(pid)
  expect(await bytesOfResponse(query, table)).toBeGreaterThan(120 * mebibyte)
  const { most } = await memoryOf(pid)
  expect((most - now) / mebibyte).toBeLessThanOrEqual(limit)
})
