import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, createServer, request, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { connectNamespace } from '@lancedb/lancedb'
import { RecordBatchStreamWriter, tableFromArrays } from 'apache-arrow'
import { arrowStreamType } from '../src/catalog-api/headers.ts'
import { freePort } from '../test/support/free-port.ts'
import { startServer, stopServers } from './server-process.ts'
import { quantile } from './statistics.ts'

/*
 * Measures commits that race for one table of the bundled catalog as built (`npm run build`): 8 clients, which
 * commit 25 times each, as soon as the previous commit is complete. The catalog commits inserts, updates, merges and
 * deletes; LanceDB's client commits its own versions through CreateTableVersion. Prints the total time, the latencies of
 * a commit, failed commits, and the conflicts (409) that a client retried. Throws if a commit that succeeded is lost.
 *
 * node --import tsx bench/racing-commits.ts [--clients N] [--commits N]
 */

type Column = Readonly<Record<string, Int32Array>>
/** Makes commit number `index` of all, of a client that has made `earlier` before. Rejects if it fails. */
type Commit = (client: number, earlier: number, index: number) => Promise<unknown>

const { values: options } = parseArgs({
  options: {
    clients: { type: 'string', default: '8' },
    commits: { type: 'string', default: '25' },
  },
})
const clients = Number(options.clients)
const commits = Number(options.commits)
const total = clients * commits

const folder = await mkdtemp(join(tmpdir(), 'racing-commits-'))
const agent = new Agent({ keepAlive: true })
let conflicts = 0
let front: Server | undefined
try {
  const port = await startCatalog()
  const frontPort = await freePort()
  front = createServer(forwardTo(port)).listen(frontPort, '127.0.0.1')
  const results = await raceAll(`http://127.0.0.1:${frontPort}`)
  console.table(results)
} finally {
  front?.close()
  agent.destroy()
  await stopServers()
  await rm(folder, { recursive: true })
}
// Connections of LanceDB's client keep the process alive.
process.exit()

async function startCatalog(): Promise<number> {
  const port = await freePort()
  const file = join(folder, 'catalog.yaml')
  await mkdir(join(folder, 'data'))
  await writeFile(file, `listen: { port: ${port} }\ndata: { folder: data }\nlog: { level: error }\n`)
  const program = join(import.meta.dirname, '../dist/main.js')
  const command = [process.execPath, program, 'backend', '--config', file] as const
  await startServer({ name: 'catalog', folder, command, port, core: undefined })
  return port
}

/** Forwards requests to the catalog and counts conflicts. */
function forwardTo(port: number): Parameters<typeof createServer>[1] {
  return (incoming, outgoing) => {
    const { method, url: path, headers } = incoming
    const forwarded = request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
      if (response.statusCode === 409) conflicts += 1
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    forwarded.once('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  }
}

async function raceAll(url: string): Promise<Record<string, Record<string, number>>> {
  const post = async (path: string, body: object): Promise<unknown> => {
    const isArrow = Buffer.isBuffer(body)
    const response = await fetch(`${url}/v1/table/${path}`, {
      method: 'POST',
      headers: { 'content-type': isArrow ? arrowStreamType : 'application/json' },
      body: isArrow ? new Uint8Array(body) : JSON.stringify(body),
    })
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
    return await response.json()
  }
  const merge = 'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true'
  const increment = [['n', 'n + 1']]
  const results: Record<string, Record<string, number>> = {}

  /** `condition` selects `expected` rows if no commit is lost. */
  const race = async (
    name: string,
    rows: number,
    commit: (table: string) => Commit | Promise<Commit>,
    [condition, expected]: readonly [condition: string, expected: number],
  ): Promise<void> => {
    const table = `race-${Object.keys(results).length}`
    await post(`${table}/create`, streamOf({ id: range(rows), n: new Int32Array(rows) }))
    const result = await measure(await commit(table))
    results[name] = result
    const counted = await post(`${table}/count_rows`, { predicate: condition })
    if (result['failed'] === 0 && counted !== expected)
      throw new Error(`${name}: expected ${expected} rows with ${condition}, found ${String(counted)}`)
  }

  await race(
    'insert',
    0,
    (table) => (client) =>
      post(`${table}/insert`, streamOf({ id: Int32Array.of(client), n: Int32Array.of(0) })),
    ['id >= 0', total],
  )
  await race(
    'update, a row of each client',
    clients,
    (table) => (client) => post(`${table}/update`, { predicate: `id = ${client}`, updates: increment }),
    [`n = ${commits}`, clients],
  )
  await race(
    'update, the same row',
    clients,
    (table) => () => post(`${table}/update`, { predicate: 'id = 0', updates: increment }),
    [`n = ${total}`, 1],
  )
  await race(
    'merge, a row of each client',
    clients,
    (table) => (client, earlier) =>
      post(`${table}/${merge}`, streamOf({ id: Int32Array.of(client), n: Int32Array.of(earlier + 1) })),
    [`n = ${commits}`, clients],
  )
  await race(
    'merge, new rows',
    clients,
    (table) => (_client, _earlier, index) =>
      post(`${table}/${merge}`, streamOf({ id: Int32Array.of(clients + index), n: Int32Array.of(0) })),
    ['id >= 0', clients + total],
  )
  await race(
    'delete',
    2 * total,
    (table) => (_client, _earlier, index) => post(`${table}/delete`, { predicate: `id = ${index}` }),
    ['id >= 0', total],
  )
  await race(
    "append of LanceDB's client",
    0,
    async (table) => {
      const connections = await Promise.all(
        Array.from({ length: clients }, () => connectNamespace('rest', { uri: url })),
      )
      const tables = await Promise.all(connections.map((connection) => connection.openTable(table)))
      return async (client) => tables[client]?.add([{ id: client, n: 0 }])
    },
    ['id >= 0', total],
  )
  return results
}

async function measure(commit: Commit): Promise<Record<string, number>> {
  const times: number[] = []
  const failures: unknown[] = []
  conflicts = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let earlier = 0; earlier < commits; earlier += 1) {
        const sentAt = performance.now()
        await commit(client, earlier, client * commits + earlier).catch((error: unknown) =>
          failures.push(error),
        )
        times.push(performance.now() - sentAt)
      }
    }),
  )
  const seconds = (performance.now() - startedAt) / 1_000
  if (failures.length > 0) console.error(failures[0])
  return {
    'total s': Number(seconds.toFixed(1)),
    'p50 ms': Math.round(quantile(times, 0.5)),
    'p99 ms': Math.round(quantile(times, 0.99)),
    'max ms': Math.round(Math.max(...times)),
    failed: failures.length,
    conflicts,
  }
}

function streamOf(columns: Column): Buffer {
  return Buffer.from(RecordBatchStreamWriter.writeAll(tableFromArrays(columns)).toUint8Array(true))
}

function range(length: number): Int32Array {
  return Int32Array.from({ length }, (_, index) => index)
}
