import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { freePort } from '../support/free-port.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { quantile } from './statistics.ts'
import { runWrk } from './load.ts'
import { startUpstream } from './peers/upstream.ts'
import { startServer, stopServers } from './server-process.ts'

/*
 * Measures the cost of the audit log for a commit: 16 concurrent committers, each awaiting its response, against
 * gateways as built (`npm run build`) that only differ in how they record commits. wrk generates the load and the
 * upstream responds at once; both share the cores with the gateway and its disk. Rounds are interleaved. Prints the
 * medians over the rounds for each mode: median and 99th percentile of the commit time, the increase of the median over
 * no log, and the CPU time of the gateway per commit, of its main thread and of all threads. Without a log, the gateway
 * is never idle: the commit time is 16 times the CPU time of one commit.
 */

const modes = ['off', 'besteffort', 'durable', 'strict'] as const
const committers = 16
const rounds = 9
const seconds = 1
const commit = {
  version: 7,
  manifest_path: 'prod/orders/_versions/7.manifest',
  manifest_size: 4_096,
  e_tag: 'e',
}

const program = join(import.meta.dirname, '../../dist/main.js')
const folder = await mkdtemp(join(tmpdir(), 'audit-modes-'))
const bodyFile = join(folder, 'commit.json')

interface Measured {
  readonly mode: string
  readonly pid: number
  readonly port: number
  readonly key: string
  readonly rounds: Round[]
}

/** Commit times in milliseconds, CPU times in microseconds. */
interface Round {
  readonly median: number
  readonly high: number
  readonly main: number
  readonly all: number
}

try {
  await writeFile(bodyFile, JSON.stringify(commit))
  const upstream = await startUpstream(folder, undefined, [])
  const gateways = await Promise.all(modes.map((mode) => start(mode, upstream.port)))
  for (const gateway of gateways) await measure(gateway)
  for (let round = 0; round < rounds; round += 1) {
    for (const gateway of gateways) gateway.rounds.push(await measure(gateway))
  }
  print(gateways)
} finally {
  await stopServers()
  await rm(folder, { recursive: true })
}

async function start(mode: string, upstreamPort: number): Promise<Measured> {
  const port = await freePort()
  const { file, key } = await makeFiles(join(folder, mode), { mode, port, upstreamPort })
  const command = [process.execPath, program, 'serve', '--config', file] as const
  const { pid } = await startServer({ name: mode, folder, command, port, core: undefined })
  return { mode, pid, port, key, rounds: [] }
}

async function measure({ pid, port, key }: Measured): Promise<Round> {
  const before = await cpuTimes(pid)
  const { requests, p50, p99, refused, broken } = await runWrk({
    connections: committers,
    seconds,
    headers: [`x-api-key: ${key}`, 'content-type: application/json'],
    url: `http://127.0.0.1:${port}/v1/table/prod$orders/version/create`,
    core: undefined,
    environment: { BENCH_BODY_FILE: bodyFile },
  })
  if (refused + broken > 0) throw new Error(`${refused + broken} commits of ${requests} failed`)
  const after = await cpuTimes(pid)
  return {
    median: p50 / 1_000,
    high: p99 / 1_000,
    main: (after.main - before.main) / requests,
    all: (after.all - before.all) / requests,
  }
}

function print(gateways: readonly Measured[]): void {
  const middle = ({ rounds }: Measured, member: keyof Round): number =>
    quantile(
      rounds.map((round) => round[member]),
      0.5,
    )
  const [without] = gateways
  for (const gateway of gateways) {
    const [median, high] = [middle(gateway, 'median'), middle(gateway, 'high')]
    const cost = median - (without ? middle(without, 'median') : 0)
    const times = `p50 ${median.toFixed(2)} ms (+${cost.toFixed(2)})  p99 ${high.toFixed(2)} ms`
    const [main, all] = [middle(gateway, 'main'), middle(gateway, 'all')]
    const cpu = `CPU ${main.toFixed(0)} us, of all threads ${all.toFixed(0)} us`
    console.log(`${gateway.mode.padEnd(10)}  ${times}  ${cpu}`)
  }
}

/** Creates the settings of a gateway with that recording mode, and an API key that may commit. */
async function makeFiles(
  where: string,
  { mode, port, upstreamPort }: { mode: string; port: number; upstreamPort: number },
): Promise<{ file: string; key: string }> {
  const at = (name: string): string => join(where, name)
  const pepper = randomBytes(32).toString('base64url')
  await mkdir(at('policies'), { recursive: true })
  await writeFile(at('policies/policies.yaml'), formatPolicies([allowEverything]))
  await writeFile(at('pepper'), pepper)
  await writeFile(at('keys.yaml'), 'keys: []\n')
  const { text: key } = await createKey(at('keys.yaml'), Buffer.from(pepper), {
    principal: 'dev',
    groups: [],
  })
  const settings = {
    listen: { port },
    admin: { port: 0 },
    upstream: { url: `http://127.0.0.1:${upstreamPort}`, maxConnections: committers },
    identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
    policies: { folder: 'policies' },
    audit: { folder: 'audit', reserveBytes: 0, modes: { commit: mode } },
    log: { level: 'silent' },
    unsafe: mode === 'off' ? ['audit-off'] : [],
  }
  await writeFile(at('gateway.yaml'), stringify(settings))
  return { file: at('gateway.yaml'), key }
}

/** CPU time of a process in microseconds, as Linux counts it; 0 on other systems. */
async function cpuTimes(pid: number): Promise<{ main: number; all: number }> {
  const tasks = `/proc/${pid}/task`
  const times = await Promise.all(
    (await readdir(tasks).catch(() => [])).map(async (task) => {
      const text = await readFile(`${tasks}/${task}/schedstat`, 'latin1').catch(() => '0')
      return { isMain: task === String(pid), us: Number(text.split(' ')[0]) / 1_000 }
    }),
  )
  const sum = (which: typeof times): number => which.reduce((total, { us }) => total + us, 0)
  return { main: sum(times.filter(({ isMain }) => isMain)), all: sum(times) }
}
