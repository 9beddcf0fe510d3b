import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeBodies } from './bodies.ts'
import { repeatTransfer } from './bulk-load.ts'
import { makeCallers } from './callers.ts'
import { disturb } from './disturb.ts'
import { nodeVersions, type NodeMajor } from './fetched-programs.ts'
import { credentialHeader, runLoad, runWrk, type LoadSetup } from './load.ts'
import { gatewayOn } from './peers/gateway.ts'
import { startUpstream } from './peers/upstream.ts'
import { residentMemory } from './process-cost.ts'
import { markdownTable } from './report.ts'
import { stopServers, type ServerProcess } from './server-process.ts'
import { quantile } from './statistics.ts'
import { Transfers } from './transfers.ts'
import { workloads, type Transfer, type Workload } from './workloads.ts'

/*
 * Measures whether the memory of the gateway as built (`npm run build`) grows under a load of all kinds: reads with a key,
 * with one token and with many, refusals, a thousand connections, and commits, each beside transfers of 64 MiB in turn in
 * both directions; after each lap through them, 600 new connections with a refusal each. One gateway per version of Node,
 * all at the same time. Prints the medians of the resident memory in each sixth of the time, in megabytes. Fails if a
 * response is unexpected. Linux only.
 *
 * node --import tsx bench/soak.ts [--node 20,22,24,26] [--minutes N]
 */

type SmallWorkload = Extract<Workload, { readonly kind: 'small' }>

interface Soaked {
  readonly name: string
  readonly server: ServerProcess
  /** Resident memory in megabytes after each lap, with its minute. */
  readonly laps: { readonly minute: number; readonly memory: number }[]
  requests: number
}

const { values: options } = parseArgs({
  options: {
    node: { type: 'string', default: Object.keys(nodeVersions).join(',') },
    minutes: { type: 'string', default: '30' },
  },
})
const minutes = Number(options.minutes)
const parts = 6
const transferKinds: readonly Transfer[] = ['download', 'upload', 'upload-chunked']
const smallWorkloads = workloads.filter((each) => each.kind === 'small')
const folder = await mkdtemp(join(tmpdir(), 'soak-'))

try {
  const callers = await makeCallers(folder, 10_000)
  const bodies = await makeBodies(folder, ['64m'])
  const upstream = await startUpstream(folder, undefined, ['64m'])
  const load: LoadSetup = { callers, bodies, core: undefined, signal: new AbortController().signal }
  const transfers = new Transfers(bodies, callers)
  const gateways = await Promise.all(
    options.node.split(',').map(async (major) => {
      const peer = gatewayOn(Number(major) as NodeMajor)
      const own = join(folder, peer.name)
      await mkdir(own)
      const program = await peer.provide()
      const setup = { folder: own, program, upstreamPort: upstream.port, callers, core: undefined }
      const server = await peer.start({ ...setup, profileFolder: undefined })
      return { name: program.version, server, laps: [], requests: 0 } satisfies Soaked
    }),
  )
  const startedAt = performance.now()
  const elapsedMinutes = (): number => (performance.now() - startedAt) / 60_000
  await Promise.all(
    gateways.map(async (gateway: Soaked) => {
      while (elapsedMinutes() < minutes) {
        await runLap(gateway, { load, transfers })
        const memory = residentMemory(gateway.server.pid) / 1e6
        gateway.laps.push({ minute: elapsedMinutes(), memory })
        await gateway.server.emptyLog()
      }
    }),
  )
  process.stdout.write(`${formatGrowth(gateways)}\n`)
} finally {
  await stopServers()
  await rm(folder, { recursive: true })
}

interface LapSetup {
  readonly load: LoadSetup
  readonly transfers: Transfers
}

async function runLap(gateway: Soaked, setup: LapSetup): Promise<void> {
  const { port } = gateway.server
  const small = smallWorkloads.map((workload) => () => sendSmall(workload, port, setup.load))
  for (const [index, send] of [...small, () => sendCommits(port, setup.load)].entries()) {
    const transfer = transferKinds[index % transferKinds.length] ?? 'download'
    let isOver = false
    const [requests] = await Promise.all([
      send().finally(() => (isOver = true)),
      repeatTransfer(port, setup.transfers.request(transfer, '64m', 'key'), () => isOver),
    ])
    gateway.requests += requests
  }
  await disturb(port, { headers: credentialHeader('key', setup.load.callers), transfers: [] })
}

async function sendSmall(workload: SmallWorkload, port: number, load: LoadSetup): Promise<number> {
  const { credential = 'key' } = workload
  const { requests } = await runLoad(workload, { port, credential }, 1, load)
  return requests
}

async function sendCommits(port: number, { callers, bodies }: LoadSetup): Promise<number> {
  const { requests, refused, broken } = await runWrk({
    connections: 16,
    seconds: 1,
    headers: [`x-api-key: ${callers.apiKey}`, 'content-type: application/json'],
    url: `http://127.0.0.1:${port}/v1/table/bench$small/version/create`,
    core: undefined,
    environment: { BENCH_BODY_FILE: bodies.file('commit') },
  })
  if (refused + broken > 0) throw new Error(`${refused + broken} commits of ${requests} failed`)
  return requests
}

function formatGrowth(gateways: readonly Soaked[]): string {
  const ends = Array.from({ length: parts }, (_, part) => (minutes * (part + 1)) / parts)
  const cells = gateways.map(({ name, requests, laps }) => [
    name,
    requests.toLocaleString('en'),
    ...ends.map((end) => {
      const within = laps.filter(({ minute }) => minute > end - minutes / parts && minute <= end)
      return quantile(
        within.map(({ memory }) => memory),
        0.5,
      ).toFixed(0)
    }),
  ])
  return markdownTable(['', 'requests', ...ends.map((end) => `to minute ${end}`)], cells)
}
