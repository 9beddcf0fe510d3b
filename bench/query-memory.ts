import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  RecordBatchStreamWriter,
  Table,
  makeData,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow'
import { openEngine } from '../src/backend/engine/lancedb-engine.ts'
import { localFileStorage } from '../src/backend/storage/local-storage.ts'
import { freePort } from '../test/support/free-port.ts'
import { familyOf, processorMicroseconds } from './process-cost.ts'
import { startServer, stopServers } from './server-process.ts'
import { quantile } from './statistics.ts'

/*
 * Measures the memory of the bundled catalog as built (`npm run build`) during queries of a table of 1,000,000 rows of
 * 100 bytes: an id, a vector and a text, in four uploads. Each query is sent to a catalog that has just started and has
 * responded to a small query. Prints the resident memory before and at its peak, the increase, the size of the response,
 * and the time and CPU time of the query; medians of the rounds. Linux only.
 *
 * node --import tsx bench/query-memory.ts [--rounds N] [--only TEXT] [--set NAME=VALUE,...]
 *
 * `--set` sets environment variables of the catalog.
 */

const mebibyte = 1024 * 1024
const uploads = 4
const rowsPerUpload = 250_000
const rows = uploads * rowsPerUpload
const dimensions = 20
const byId = [{ column_name: 'id', ascending: false }]
const vector = { single_vector: Array.from({ length: dimensions }, () => 0.5) }

const queries: Readonly<Record<string, object>> = {
  'all rows': { k: rows },
  'all rows, a filter': { k: rows, filter: 'id >= 0' },
  'all rows, sorted': { k: rows, order_by: byId },
  'first 100,000 rows, sorted': { k: rows / 10, order_by: byId },
  'first 10 rows, sorted': { k: 10, order_by: byId },
  'nearest 10 rows': { k: 10, vector },
  'nearest 100,000 rows': { k: rows / 10, vector },
  'all rows by distance': { k: rows, vector },
}

interface Measured {
  readonly before: number
  readonly peak: number
  readonly response: number
  readonly seconds: number
  readonly cpuSeconds: number
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    set: { type: 'string', default: '' },
  },
})
const environment = Object.fromEntries(
  options.set
    .split(',')
    .filter(Boolean)
    .map((setting) => setting.split('=', 2) as [string, string]),
)
const folder = await mkdtemp(join(tmpdir(), 'query-memory-'))
try {
  await createTable()
  const results: Record<string, Record<string, number>> = {}
  for (const [name, query] of Object.entries(queries)) {
    if (!name.includes(options.only)) continue
    const measured: Measured[] = []
    for (let round = 0; round < Number(options.rounds); round += 1) measured.push(await measure(query))
    const middle = (member: keyof Measured): number =>
      quantile(
        measured.map((one) => one[member]),
        0.5,
      )
    const [before, peak] = [middle('before') / mebibyte, middle('peak') / mebibyte]
    results[name] = {
      'before MiB': Math.round(before),
      'peak MiB': Math.round(peak),
      'increase MiB': Math.round(peak - before),
      'response MiB': Math.round(middle('response') / mebibyte),
      s: Number(middle('seconds').toFixed(1)),
      'CPU s': Number(middle('cpuSeconds').toFixed(1)),
    }
  }
  console.table(results)
} finally {
  await stopServers()
  await rm(folder, { recursive: true })
}

async function createTable(): Promise<void> {
  await mkdir(join(folder, 'tables'))
  const engine = openEngine(localFileStorage, 2 ** 30)
  const location = join(folder, 'tables', 'wide.lance')
  for (let upload = 0; upload < uploads; upload += 1) {
    const stream = RecordBatchStreamWriter.writeAll(rowsFrom(upload * rowsPerUpload)).toUint8Array(true)
    if (upload === 0) await engine.create(location, stream, 'create')
    else await engine.insert(location, stream, 'append')
  }
  await engine.close()
}

function rowsFrom(first: number): Table {
  const ids = Int32Array.from({ length: rowsPerUpload }, (_, row) => first + row)
  const values = Float32Array.from({ length: rowsPerUpload * dimensions }, () => Math.random())
  const type = new FixedSizeList(dimensions, new Field('item', new Float32(), true))
  const item = makeData({ type: new Float32(), data: values })
  const names = Array.from(ids, (id) => `row number ${id}`)
  return new Table({
    id: new Vector([makeData({ type: new Int32(), data: ids })]),
    vector: new Vector([makeData({ type, length: rowsPerUpload, nullCount: 0, child: item })]),
    name: vectorFromArray(names, new Utf8()),
  })
}

async function measure(query: object): Promise<Measured> {
  const port = await freePort()
  const file = join(folder, 'catalog.yaml')
  await writeFile(file, `listen: { port: ${port} }\ndata: { folder: . }\nlog: { level: error }\n`)
  const program = join(import.meta.dirname, '../dist/main.js')
  const command = [process.execPath, program, 'backend', '--config', file] as const
  const server = await startServer({ name: 'catalog', folder, command, port, core: undefined, environment })
  try {
    await fetch(`http://127.0.0.1:${port}/v1/table/wide/register`, {
      method: 'POST',
      body: '{"location":"wide.lance"}',
    })
    await bytesOfResponse(port, { k: 10 })
    // The started process only supervises its child.
    const pid = familyOf(server.pid)[1] ?? 0
    const before = await memoryOf(pid)
    const cpuBefore = processorMicroseconds(pid)
    const startedAt = performance.now()
    const response = await bytesOfResponse(port, query)
    return {
      before: before.now,
      peak: (await memoryOf(pid)).peak,
      response,
      seconds: (performance.now() - startedAt) / 1_000,
      cpuSeconds: (processorMicroseconds(pid) - cpuBefore) / 1_000_000,
    }
  } finally {
    await server.stop()
  }
}

async function bytesOfResponse(port: number, query: object): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/table/wide/query`, {
    method: 'POST',
    body: JSON.stringify({ vector: [], ...query }),
  })
  if (response.body === null || response.status !== 200) throw new Error(await response.text())
  let bytes = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) bytes += chunk.length
  return bytes
}

/** The current and the peak resident memory of a process in bytes. */
async function memoryOf(pid: number): Promise<{ now: number; peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const read = (name: string): number =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1])
  return { now: read('VmRSS'), peak: read('VmHWM') }
}
