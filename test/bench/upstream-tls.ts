import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeAuthority } from '../identity/mtls/test-certificates.ts'
import { freePort } from '../support/free-port.ts'
import { makeBodies } from './bodies.ts'
import { makeCallers } from './callers.ts'
import { runLoad } from './load.ts'
import { writeGatewaySettings } from './peers/gateway-settings.ts'
import { startUpstream } from './peers/upstream.ts'
import { processorMicroseconds } from './process-cost.ts'
import { markdownTable } from './report.ts'
import { startServer, stopServers, type ServerProcess } from './server-process.ts'
import { quantile } from './statistics.ts'
import { workloads, type Workload } from './workloads.ts'

/*
 * Measures what TLS to the upstream costs: CPU time of a gateway as built (`npm run build`) per small request, in front of
 * an upstream over TLS and of one in the clear. Rounds are interleaved. Prints the medians of both and of their ratio in
 * one round. The goal of the ratio is 1.25.
 */

const rounds = 5
const seconds = 2
const warmUpSeconds = 4
const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

const folder = await mkdtemp(join(tmpdir(), 'upstream-tls-'))
try {
  const authority = await makeAuthority(folder, 'bench')
  const certificate = await authority.issue('upstream', 'IP:127.0.0.1')
  const callers = await makeCallers(folder, 1)
  const bodies = await makeBodies(folder, [])
  const load = { callers, bodies, core: undefined, signal: new AbortController().signal }
  const clear = await startUpstream(folder, undefined, [])
  const secure = await startUpstream(folder, undefined, [], certificate)
  const gateways = [
    await startGateway('clear', { url: `http://127.0.0.1:${clear.port}` }),
    await startGateway('tls', { url: `https://127.0.0.1:${secure.port}`, caFile: authority.certFile }),
  ] as const

  async function startGateway(name: string, upstream: object): Promise<ServerProcess> {
    const own = join(folder, name)
    await mkdir(own)
    const port = await freePort()
    const more = { upstream, listen: { port }, admin: { port: 0 } }
    const file = await writeGatewaySettings({ folder: own, upstreamPort: 0, callers }, more)
    const command = [process.execPath, program, 'serve', '--config', file] as const
    return startServer({ name, folder: own, command, port, core: undefined })
  }

  async function measure(
    server: ServerProcess,
    workload: Extract<Workload, { kind: 'small' }>,
    duration: number,
  ): Promise<number> {
    const before = processorMicroseconds(server.pid)
    const credential = workload.credential ?? 'key'
    const { requests } = await runLoad(workload, { port: server.port, credential }, duration, load)
    const spent = processorMicroseconds(server.pid) - before
    await server.emptyLog()
    return spent / requests
  }

  const lines: string[][] = []
  for (const workload of workloads) {
    if (workload.kind !== 'small' || (workload.name !== 'key' && workload.name !== 'token')) continue
    for (const gateway of gateways) await measure(gateway, workload, warmUpSeconds)
    const measured: (readonly [clear: number, tls: number])[] = []
    for (let round = 0; round < rounds; round += 1) {
      const inClear = await measure(gateways[0], workload, seconds)
      measured.push([inClear, await measure(gateways[1], workload, seconds)])
    }
    const median = (figure: (pair: readonly [number, number]) => number): number =>
      quantile(measured.map(figure), 0.5)
    lines.push([
      workload.what,
      median(([inClear]) => inClear).toFixed(0),
      median(([, tls]) => tls).toFixed(0),
      median(([inClear, tls]) => tls / inClear).toFixed(2),
    ])
  }
  console.log(markdownTable(['CPU time of a request, µs', 'in the clear', 'over TLS', 'ratio'], lines))
} finally {
  await stopServers()
  await rm(folder, { recursive: true })
}
