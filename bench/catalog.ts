import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from 'undici'
import { openEngine } from '../src/backend/engine/lancedb-engine.ts'
import { localFileStorage } from '../src/backend/storage/local-storage.ts'
import {
  setup as startPostgres,
  teardown as stopPostgres,
} from '../src/backend/test/postgres/private-postgres.ts'
import { nameOf, startCatalog, type MeasuredCatalog } from './measured-catalog.ts'
import { processorMicroseconds } from './process-cost.ts'
import { stopServers } from './server-process.ts'
import { quantile, rounded } from './statistics.ts'

/*
 * Measures the operations of the bundled catalog with 10 tables and with 100,000 tables, a tenth of them in one
 * namespace; one table has as many committed versions with metadata as that namespace has tables. Both are requested in
 * turn by one sequential client each. Prints milliseconds per request, CPU milliseconds, and the ratio of the large
 * catalog to the small one. PostgreSQL commits without waiting for the disk here.
 *
 * node --import tsx bench/catalog.ts [--tables N] [--rounds N] [--only TEXT] [--postgres]
 */

interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
}

/** Requests of one round. */
type Workload = (catalog: MeasuredCatalog) => readonly Call[] | Promise<readonly Call[]>

interface Requested {
  readonly catalog: MeasuredCatalog
  readonly client: Client
  readonly times: number[]
  cpu: number
}

const requestsInRound = 20
const crowd = '/v1/namespace/crowd/table/list'

const workloads: Readonly<Record<string, Workload>> = {
  DescribeTable: repeated((index, size) => post(`/v1/table/crowd$${nameOf((index * 7) % size)}/describe`)),
  'DescribeTable, with what is in it': repeated(() =>
    post('/v1/table/rows/describe', { load_detailed_metadata: true }),
  ),
  TableExists: repeated((index, size) => post(`/v1/table/crowd$${nameOf((index * 7) % size)}/exists`)),
  'ListTables, first page': repeated(() => list(crowd)),
  'ListTables, in the middle': repeated((_, size) => list(crowd, nameOf(size / 2))),
  'ListTables, last page': repeated((_, size) => list(crowd, nameOf(size - 6))),
  'ListTables, none with data': repeated(() => list(`${crowd}?include_declared=false`)),
  'ListTables, beside namespaces': repeated(() => list('/v1/namespace/$/table/list')),
  'ListNamespaces, first page': repeated(() => list('/v1/namespace/$/list')),
  'ListNamespaces, beside tables': repeated(() => list('/v1/namespace/crowd/list')),
  'ListAllTables, first page': repeated(() => list('/v1/table')),
  'ListAllTables, last page': repeated(() => list('/v1/table', Buffer.from('rowr').toString('base64url'))),
  'ListAllTables, one with data': repeated(() => list('/v1/table?include_declared=false')),
  'ListTableVersions, newest': repeated(() => post('/v1/table/rows/version/list?descending=true&limit=1')),
  CountTableRows: repeated(() => post('/v1/table/rows/count_rows')),
  'QueryTable, 10 rows': repeated(() => post('/v1/table/rows/query', { k: 10, vector: [] })),
  CreateTableVersion: async ({ stage }) =>
    (await stage(requestsInRound)).map((body) => post('/v1/table/rows/version/create', body)),
  'CreateNamespace, DropNamespace': repeated((index) =>
    post(`/v1/namespace/passing/${index % 2 === 0 ? 'create' : 'drop'}`),
  ),
  'DeclareTable, DropTable': repeated((index) =>
    post(`/v1/table/crowd$passing/${index % 2 === 0 ? 'declare' : 'drop'}`),
  ),
}

const { values: options } = parseArgs({
  options: {
    tables: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '15' },
    only: { type: 'string', default: '' },
    postgres: { type: 'boolean', default: false },
  },
})
const folder = await mkdtemp(join(tmpdir(), 'catalog-bench-'))
const engine = openEngine(localFileStorage, 2 ** 30)
let postgresUrl: string | undefined
try {
  const provide = (_name: string, url: string) => (postgresUrl = url)
  if (options.postgres) await startPostgres({ provide } as never)
  const start = (name: string, tables: number) => startCatalog({ name, folder, tables, postgresUrl, engine })
  const catalogs = [await start('small', 10), await start('large', Number(options.tables))]
  const rows: Record<string, Record<string, number>> = {}
  for (const [name, workload] of Object.entries(workloads)) {
    if (name.includes(options.only)) rows[name] = await compare(workload, catalogs)
  }
  console.table(rows)
} finally {
  await stopServers()
  await engine.close()
  await stopPostgres()
  await rm(folder, { recursive: true, force: true })
}

async function compare(
  workload: Workload,
  catalogs: readonly MeasuredCatalog[],
): Promise<Record<string, number>> {
  const requested = catalogs.map((catalog): Requested => ({
    catalog,
    client: new Client(`http://127.0.0.1:${catalog.server.port}`),
    times: [],
    cpu: 0,
  }))
  const rounds = Number(options.rounds)
  for (let round = -Math.ceil(rounds / 3); round < rounds; round += 1) {
    for (const one of requested) await runRound(one, await workload(one.catalog), round >= 0)
  }
  await Promise.all(requested.map(({ client }) => client.close()))
  const [small, large] = requested.map(({ times, cpu }) => ({
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    cpu: cpu / times.length,
  }))
  if (small === undefined || large === undefined) throw new Error('there are two catalogs')
  return {
    'small p50': rounded(small.p50),
    'small p99': rounded(small.p99),
    'small CPU': rounded(small.cpu),
    'large p50': rounded(large.p50),
    'large p99': rounded(large.p99),
    'large CPU': rounded(large.cpu),
    'times as long': rounded(large.p50 / small.p50),
    'times the CPU': rounded(large.cpu / small.cpu),
  }
}

/** Sends requests one after the other, and records the times unless this is a warm-up. */
async function runRound(requested: Requested, calls: readonly Call[], isRetained: boolean): Promise<void> {
  const { server } = requested.catalog
  const cpuBefore = processorMicroseconds(server.pid)
  for (const { body, ...call } of calls) {
    const startedAt = performance.now()
    const response = await requested.client.request({ ...call, ...(body && { body: JSON.stringify(body) }) })
    const bytes = await response.body.bytes()
    if (isRetained) requested.times.push(performance.now() - startedAt)
    if (response.statusCode !== 200)
      throw new Error(`${call.path}: ${response.statusCode} ${Buffer.from(bytes).toString()}`)
  }
  if (isRetained) requested.cpu += (processorMicroseconds(server.pid) - cpuBefore) / 1000
}

function repeated(make: (index: number, crowd: number) => Call): Workload {
  return ({ crowd }) => Array.from({ length: requestsInRound }, (_, index) => make(index, crowd))
}

function post(path: string, body: object = {}): Call {
  return { method: 'POST', path, body }
}

function list(path: string, after = ''): Call {
  return { method: 'GET', path: `${path}${path.includes('?') ? '&' : '?'}limit=100&page_token=${after}` }
}
