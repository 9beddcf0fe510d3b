import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeAuthority } from '../test/identity/mtls/test-certificates.ts'
import { findRedis } from '../test/limits/shared/find-redis.ts'
import type { WrittenPolicy } from '../test/policy/policy-builder.ts'
import { freePort } from '../test/support/free-port.ts'
import { readImageNodeOptions } from '../test/support/image-node-options.ts'
import { makeBodies } from './bodies.ts'
import { makeCallers } from './callers.ts'
import { bindThisProcess, chooseCores } from './cores.ts'
import { fetchNode } from './fetched-programs.ts'
import { runLoad } from './load.ts'
import { writeGatewaySettings } from './peers/gateway-settings.ts'
import { startUpstream } from './peers/upstream.ts'
import { processorMicroseconds } from './process-cost.ts'
import { markdownTable } from './report.ts'
import { startServer, stopServers, type ServerProcess } from './server-process.ts'
import { quantile } from './statistics.ts'
import { smallReadPath, type SmallWorkload } from './workloads.ts'

/*
 * Measures what a feature adds to the CPU time of a small read with an API key: gateways as built (`npm run build`), on
 * Node 24 with the options of the image, that differ in one feature each from the first one. The second one is the same as
 * the first: their difference is the error of the measurement. Rounds are interleaved. Prints the medians of the times,
 * and of their ratios to the first gateway in the same round.
 */

interface Feature {
  readonly what: string
  /** Replace the usual settings of the same names. */
  readonly settings?: object
  /** Replace the usual policies. */
  readonly policies?: readonly WrittenPolicy[]
}

const rounds = 5
const seconds = 2
/** Compilers settle after tens of thousands of requests. */
const warmUpSeconds = 5
const program = fileURLToPath(new URL('../dist/main.js', import.meta.url))
const read: SmallWorkload = { kind: 'small', path: smallReadPath, connections: 32, tables: 100 }
const when =
  'now < timestamp("2099-01-01T00:00:00Z") && client.address.inCidr("127.0.0.0/8") && !("blocked" in context)'
const readers = { id: 'readers', effect: 'allow', subjects: { any: true }, operations: ['read'] } as const
/** Never reached. */
const high = 1e12

const folder = await mkdtemp(join(tmpdir(), 'features-'))
const receiver = createServer((request, response) => {
  request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'))
})
try {
  const node = await fetchNode(24)
  const authority = await makeAuthority(folder, 'bench')
  const certificate = await authority.issue('upstream', 'IP:127.0.0.1')
  const callers = await makeCallers(folder, 1)
  const bodies = await makeBodies(folder, [])
  const cores = chooseCores()
  bindThisProcess(cores.load)
  const load = { callers, bodies, core: cores.load, signal: new AbortController().signal }
  const upstream = await startUpstream(folder, cores.upstream, [])
  const secure = await startUpstream(folder, cores.upstream, [], certificate)
  await once(receiver.listen(0, '127.0.0.1'), 'listening')
  const received = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

  const gateways: { readonly what: string; readonly server: ServerProcess; readonly times: number[] }[] = []
  for (const { what, settings, policies } of await listFeatures()) {
    const own = join(folder, `gateway-${gateways.length}`)
    await mkdir(own)
    const port = await freePort()
    const more = { listen: { port }, admin: { port: 0 }, ...settings }
    const setup = { folder: own, upstreamPort: upstream.port, callers }
    const file = await writeGatewaySettings(setup, more, policies)
    const command = [node.file, program, 'serve', '--config', file] as const
    const environment = { NODE_OPTIONS: readImageNodeOptions() }
    const server = await startServer({
      name: 'gateway',
      folder: own,
      command,
      port,
      core: cores.server,
      environment,
    })
    gateways.push({ what, server, times: [] })
  }
  for (const { server } of gateways) await measure(server, warmUpSeconds)
  for (let round = 0; round < rounds; round += 1) {
    for (const { server, times } of gateways) times.push(await measure(server, seconds))
  }
  const usual = gateways[0]?.times ?? []
  const rows = gateways.map(({ what, times }) => {
    const ratios = times.map((time, round) => time / (usual[round] ?? NaN))
    return [what, quantile(times, 0.5).toFixed(0), quantile(ratios, 0.5).toFixed(2)]
  })
  console.log(markdownTable(['small read with a key', 'CPU µs', 'ratio'], rows))

  async function measure(server: ServerProcess, duration: number): Promise<number> {
    const before = processorMicroseconds(server.pid)
    const { requests } = await runLoad(read, { port: server.port, credential: 'key' }, duration, load)
    const spent = processorMicroseconds(server.pid) - before
    server.assertRunning()
    await server.emptyLog()
    return spent / requests
  }

  async function listFeatures(): Promise<readonly Feature[]> {
    const limits = {
      rates: [{ name: 'requests', per: 'principal', perSecond: high }],
      concurrency: [{ name: 'running', per: 'principal', maxRequests: 1_000 }],
    }
    const redis = await startRedis()
    if (redis === undefined) console.error('limits shared by Redis are skipped: there is no Redis or Valkey')
    const audit = { folder: 'audit', mode: 'besteffort', reads: true }
    const url = `http://127.0.0.1:${upstream.port}`
    const others = Array.from({ length: 99 }, (_, index) => ({
      name: `other-${index}`,
      url,
      namespaces: [[`other-${index}`]],
    }))
    return [
      { what: 'all that is on by default' },
      { what: 'the same once more' },
      { what: 'without the log of requests', settings: { log: { level: 'silent' } } },
      {
        what: 'conditions on time, client and context',
        policies: [{ name: 'readers', namespace: ['bench'], rules: [{ ...readers, when }] }],
      },
      { what: 'a rate and a concurrency limit', settings: { limits } },
      ...(redis === undefined
        ? []
        : [
            {
              what: 'the same limits, shared by Redis',
              settings: { limits: { ...limits, shared: { url: redis } } },
            },
          ]),
      { what: 'a trace of each request', settings: { traces: { endpoint: `${received}/v1/traces` } } },
      {
        what: 'a trace of each hundredth',
        settings: { traces: { endpoint: `${received}/v1/traces`, sampleRatio: 0.01 } },
      },
      { what: 'an audit record of each read', settings: { audit } },
      {
        what: 'the same records, sent to a collector (OTLP)',
        settings: { audit: { ...audit, sinks: [{ name: 'siem', type: 'otlp', url: received }] } },
      },
      {
        what: 'an upstream over TLS',
        settings: { upstream: { url: `https://127.0.0.1:${secure.port}`, caFile: authority.certFile } },
      },
      {
        what: '100 upstreams',
        settings: { upstream: undefined, upstreams: [{ name: 'main', url }, ...others] },
      },
    ]
  }

  /** Returns its URL; undefined if it is not installed. */
  async function startRedis(): Promise<string | undefined> {
    const server = findRedis()
    if (server === undefined) return undefined
    const port = await freePort()
    const command = [server, '--port', String(port), '--bind', '127.0.0.1', '--save', ''] as const
    await startServer({ name: 'redis', folder, command, port, core: cores.upstream })
    return `redis://127.0.0.1:${port}`
  }
} finally {
  await stopServers()
  receiver.close().closeAllConnections()
  await rm(folder, { recursive: true })
}
