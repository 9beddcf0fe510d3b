import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, request as requestHttp, type IncomingMessage } from 'node:http'
import { Agent as TlsAgent, request as requestHttps } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { arrowStreamType } from '../src/catalog-api/headers.ts'
import { makeAuthority } from '../test/identity/mtls/test-certificates.ts'
import { makeBodies } from './bodies.ts'
import { makeCallers } from './callers.ts'
import type { Peer } from './peer.ts'
import { caddy } from './peers/caddy.ts'
import { envoy } from './peers/envoy.ts'
import { gatewayOn, plugin } from './peers/gateway.ts'
import { haproxy } from './peers/haproxy.ts'
import { httpProxy } from './peers/http-proxy.ts'
import { nginx } from './peers/nginx.ts'
import { startUpstream } from './peers/upstream.ts'
import { processorMicroseconds } from './process-cost.ts'
import { markdownTable } from './report.ts'
import { stopServers, type ServerProcess } from './server-process.ts'
import { quantile } from './statistics.ts'

/*
 * Measures what TLS costs a server with an EC certificate. A client on Node sends the load from
 * the same cores: only the CPU time of the server counts. Servers are measured in turn, in rounds. Prints the medians. A
 * server that cannot be had has no column.
 */

interface Load {
  readonly what: string
  readonly path: string
  readonly concurrency: number
  readonly body?: Buffer
  /** Megabytes of a request, of bulk; undefined for a small one. */
  readonly megabytes?: number
  /** Whether each request opens a connection, without a ticket of an earlier one. */
  readonly connects?: boolean
}

interface Measured {
  readonly name: string
  /** In the clear, and over TLS. */
  readonly clear: ServerProcess
  readonly secure: ServerProcess
}

const peers: readonly Peer[] = [gatewayOn(20), gatewayOn(24), plugin, httpProxy, envoy, haproxy, nginx, caddy]
const rounds = 3
const seconds = 1
/** Before the first round. Compilers settle after tens of thousands of small requests. */
const warmUpSeconds = { small: 4, bulk: 1 }

const folder = await mkdtemp(join(tmpdir(), 'tls-'))
try {
  const authority = await makeAuthority(folder, 'bench')
  const { certFile, keyFile } = await authority.issue('server', 'IP:127.0.0.1')
  const certificate = { certFile, keyFile }
  const callers = await makeCallers(folder, 1)
  const bodies = await makeBodies(folder, ['64m'])
  const upload = await readFile(bodies.file('arrow-64m'))
  const small = { path: 'small/version/list', concurrency: 32 }
  const loads: readonly Load[] = [
    { ...small, what: 'small read, µs' },
    { ...small, what: 'small read on a new connection, µs', connects: true },
    {
      what: 'download of 64 MiB, ms per 100 MB',
      path: 'sized-64m/query',
      concurrency: 4,
      body: await readFile(bodies.file('query')),
      megabytes: 67.1,
    },
    {
      what: 'upload of 64 MiB, ms per 100 MB',
      path: 'small/insert',
      concurrency: 4,
      body: upload,
      megabytes: upload.length / 1e6,
    },
  ]
  const upstream = await startUpstream(folder, undefined, ['64m'])
  const servers: Measured[] = []
  for (const peer of peers) {
    const start = async (kind: string, files: typeof certificate | undefined): Promise<ServerProcess> => {
      const own = join(folder, `${peer.name}-${kind}`)
      await mkdir(own)
      return peer.start({
        folder: own,
        program: await peer.provide(),
        upstreamPort: upstream.port,
        callers,
        core: undefined,
        profileFolder: undefined,
        ...(files && { certificate: files }),
      })
    }
    try {
      const clear = await start('clear', undefined)
      servers.push({ name: peer.name, clear, secure: await start('tls', certificate) })
    } catch (error) {
      console.error(`${peer.name} is skipped: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const rows: string[][] = []
  for (const load of loads) {
    for (const isSecure of [false, true]) {
      const times = new Map<string, number[]>(servers.map(({ name }) => [name, []]))
      for (let round = 0; round <= rounds; round += 1) {
        for (const server of servers) {
          const warmUp = load.megabytes === undefined ? warmUpSeconds.small : warmUpSeconds.bulk
          const time = await measure(server, isSecure, load, round === 0 ? warmUp : seconds)
          // The first round warms up.
          if (round > 0) times.get(server.name)?.push(time)
        }
      }
      const medians = [...times.values()].map((each) => quantile(each, 0.5).toFixed(0))
      rows.push([load.what, isSecure ? 'TLS' : 'in the clear', ...medians])
    }
  }
  console.log(markdownTable(['CPU time', 'connection', ...servers.map(({ name }) => name)], rows))

  async function measure(
    { clear, secure }: Measured,
    isSecure: boolean,
    { path, concurrency, body, megabytes, connects = false }: Load,
    seconds: number,
  ): Promise<number> {
    const server = isSecure ? secure : clear
    const client = createClient(isSecure, server.port, connects)
    const type = path.endsWith('insert') ? arrowStreamType : 'application/json'
    const headers = { 'x-api-key': callers.apiKey, ...(body !== undefined && { 'content-type': type }) }
    const before = processorMicroseconds(server.pid)
    const end = performance.now() + seconds * 1_000
    let requests = 0
    const run = async (): Promise<void> => {
      while (performance.now() < end) {
        await client.post(`/v1/table/bench$${path}`, headers, body)
        requests += 1
      }
    }
    await Promise.all(Array.from({ length: concurrency }, run))
    client.close()
    server.assertRunning()
    const microseconds = processorMicroseconds(server.pid) - before
    await server.emptyLog()
    return megabytes === undefined
      ? microseconds / requests
      : microseconds / 1_000 / ((requests * megabytes) / 100)
  }
} finally {
  await stopServers()
  await rm(folder, { recursive: true })
}

interface Client {
  /** Sends a POST request, and reads its response to the end. Rejects for any status but 200. */
  post(path: string, headers: Readonly<Record<string, string>>, body: Buffer | undefined): Promise<void>
  close(): void
}

/** Creates a client of a server on that port. `connects`: each request opens a connection. */
function createClient(isSecure: boolean, port: number, connects: boolean): Client {
  const keepAlive = !connects
  const agent = isSecure
    ? new TlsAgent({ keepAlive, maxCachedSessions: 0, rejectUnauthorized: false })
    : new Agent({ keepAlive })
  return {
    async post(path, headers, body) {
      const length = { 'content-length': String(body?.length ?? 0) }
      const address = { agent, port, host: '127.0.0.1' }
      const options = { ...address, path, method: 'POST', headers: { ...headers, ...length } }
      const outgoing = isSecure ? requestHttps(options) : requestHttp(options)
      outgoing.end(body)
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
      response.resume()
      await once(response, 'end')
      if (response.statusCode !== 200) throw new Error(`unexpected status ${response.statusCode}`)
    },
    close: () => agent.destroy(),
  }
}
