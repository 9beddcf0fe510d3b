import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { arrowStreamType } from '../../src/catalog-api/headers.ts'
import { makeBodies } from './bodies.ts'
import { makeCallers } from './callers.ts'
import { startUpstream } from './peers/upstream.ts'
import { processorMicroseconds } from './process-cost.ts'
import { createProtocolClient } from './protocol-client.ts'
import { startProtocolServers, type ProtocolServer } from './protocol-servers.ts'
import { markdownTable } from './report.ts'
import { stopServers } from './server-process.ts'
import { quantile } from './statistics.ts'

/*
 * Measures the CPU time of the gateway over each protocol: `serve` with either parser of HTTP/1.1, the plugin in a Fastify
 * application, and a Fastify application with @fastify/http-proxy that only looks up the key and the prefix. A client of
 * node sends the load from the same cores: only the CPU time of the server counts. Rounds are interleaved. Prints the
 * medians: microseconds for a small read, milliseconds for 100 MB of a body of 64 MiB.
 */

interface Load {
  readonly what: string
  readonly path: string
  readonly concurrency: number
  readonly body: Buffer | undefined
  /** Megabytes of a request, of bulk; undefined for a small one. */
  readonly megabytes: number | undefined
}

const rounds = 3
const seconds = 1.5
/** Before the first round. Compilers settle after tens of thousands of small requests. */
const warmUpSeconds = { small: 6, bulk: 1.5 }

const folder = await mkdtemp(join(tmpdir(), 'protocols-'))
try {
  const callers = await makeCallers(folder, 1)
  const bodies = await makeBodies(folder, ['64m'])
  const upload = await readFile(bodies.file('arrow-64m'))
  const loads: readonly Load[] = [
    {
      what: 'small read, us',
      path: 'small/version/list',
      concurrency: 32,
      body: undefined,
      megabytes: undefined,
    },
    {
      what: '64 MiB down, ms a 100 MB',
      path: 'sized-64m/query',
      concurrency: 4,
      body: await readFile(bodies.file('query')),
      megabytes: 67.1,
    },
    {
      what: '64 MiB up, ms a 100 MB',
      path: 'small/insert',
      concurrency: 4,
      body: upload,
      megabytes: upload.length / 1e6,
    },
  ]
  const upstream = await startUpstream(folder, undefined, ['64m'])
  const servers = await startProtocolServers({ folder, upstreamPort: upstream.port, callers })
  const times = new Map<string, number[]>()
  for (const load of loads) {
    const warmUp = load.megabytes === undefined ? warmUpSeconds.small : warmUpSeconds.bulk
    for (let round = 0; round <= rounds; round += 1) {
      for (const each of servers) {
        const time = await measure(each, load, callers.apiKey, round === 0 ? warmUp : seconds).catch(
          (cause: unknown) => {
            throw new Error(`${each.name}, ${each.protocol}: ${load.what}`, { cause })
          },
        )
        // The first round warms up.
        if (round > 0) times.set(cell(each, load), [...(times.get(cell(each, load)) ?? []), time])
      }
    }
  }
  const median = (each: ProtocolServer, load: Load): string =>
    quantile(times.get(cell(each, load)) ?? [], 0.5).toFixed(0)
  console.log(
    markdownTable(
      ['protocol', 'server', ...loads.map(({ what }) => what)],
      servers
        .toSorted((one, other) => one.protocol.localeCompare(other.protocol))
        .map((each) => [each.protocol, each.name, ...loads.map((load) => median(each, load))]),
    ),
  )
} finally {
  await stopServers()
  await rm(folder, { recursive: true })
}

function cell({ name, protocol }: ProtocolServer, { what }: Load): string {
  return `${name} ${protocol} ${what}`
}

/** CPU time of the server: microseconds a request, or milliseconds a 100 MB. */
async function measure(
  { protocol, server }: ProtocolServer,
  load: Load,
  apiKey: string,
  seconds: number,
): Promise<number> {
  const client = createProtocolClient(protocol, server.port)
  const type =
    load.megabytes !== undefined && load.path.endsWith('insert') ? arrowStreamType : 'application/json'
  const headers = { 'x-api-key': apiKey, ...(load.body !== undefined && { 'content-type': type }) }
  const before = processorMicroseconds(server.pid)
  const end = performance.now() + seconds * 1_000
  let requests = 0
  const run = async (): Promise<void> => {
    while (performance.now() < end) {
      await client.post(`/v1/table/bench$${load.path}`, headers, load.body)
      requests += 1
    }
  }
  await Promise.all(Array.from({ length: load.concurrency }, run))
  client.close()
  server.assertRunning()
  const microseconds = processorMicroseconds(server.pid) - before
  await server.emptyLog()
  return load.megabytes === undefined
    ? microseconds / requests
    : microseconds / 1_000 / ((requests * load.megabytes) / 100)
}
