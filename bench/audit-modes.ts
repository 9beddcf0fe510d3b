import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import { arrowStreamType } from '../src/catalog-api/headers.ts'
import { createKey } from '../src/identity/api-keys/key-store.ts'
import { freePort } from '../test/support/free-port.ts'
import { allowEverything } from '../test/gateway/support/open-gateway.ts'
import { formatPolicies } from '../test/policy/policy-builder.ts'
import { makeBodies } from './bodies.ts'
import { fetchNode, nodeVersions, type NodeMajor } from './fetched-programs.ts'
import { runWrk } from './load.ts'
import type { Program } from './peer.ts'
import { startUpstream } from './peers/upstream.ts'
import { startServer, stopServers, type ServerProcess } from './server-process.ts'
import { quantile } from './statistics.ts'

/*
 * Measures the cost of the audit log for changes: 16 concurrent clients, each awaiting its response, against gateways as
 * built (`npm run build`) that only differ in how they record changes. The changes are commits of a version, then
 * uploads of 1 MiB. wrk generates the load and the upstream responds at once; both share the cores with the gateway and
 * its disk. Rounds are interleaved. Prints the medians over the rounds for each mode: median and 99th percentile of the
 * time of a change, their increase over the mode that waits for no disk, and the CPU time of the gateway per change, of
 * its main thread and of all threads.
 *
 * node --import tsx bench/audit-modes.ts [--node 20,22,24,26] [--rounds N] [--only commits|uploads]
 */

const modes = ['besteffort', 'strict'] as const
const clients = 16
const seconds = 1

interface Change {
  readonly name: string
  readonly path: string
  readonly contentType: string
  readonly bodyFile: string
}

interface Measured {
  readonly mode: string
  readonly pid: number
  readonly port: number
  readonly key: string
}

/** Times of a change in milliseconds, CPU times in microseconds. */
interface Round {
  readonly median: number
  readonly high: number
  readonly main: number
  readonly all: number
}

const { values: options } = parseArgs({
  options: {
    node: { type: 'string', default: Object.keys(nodeVersions).join(',') },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
  },
})
const program = join(import.meta.dirname, '../dist/main.js')
const folder = await mkdtemp(join(tmpdir(), 'audit-modes-'))

try {
  const bodies = await makeBodies(folder, ['1m'])
  const table = '/v1/table/bench$small'
  const changes: readonly Change[] = [
    {
      name: 'commits',
      path: `${table}/version/create`,
      contentType: 'application/json',
      bodyFile: bodies.file('commit'),
    },
    {
      name: 'uploads of 1 MiB',
      path: `${table}/insert`,
      contentType: arrowStreamType,
      bodyFile: bodies.file('arrow-1m'),
    },
  ]
  const chosen = changes.filter(({ name }) => name.startsWith(options.only))
  const upstream = await startUpstream(folder, undefined, [])
  for (const major of options.node.split(',')) await compareModes(major, chosen, upstream.port)
} finally {
  await stopServers()
  await rm(folder, { recursive: true })
}

async function compareModes(major: string, changes: readonly Change[], upstreamPort: number): Promise<void> {
  const node = await fetchNode(Number(major) as NodeMajor)
  const started = await Promise.all(modes.map((mode) => start(mode, node, upstreamPort)))
  for (const change of changes) {
    const gateways = started.map(({ measured }) => ({ measured, rounds: new Array<Round>() }))
    for (const { measured } of gateways) await measure(measured, change)
    for (let round = 0; round < Number(options.rounds); round += 1) {
      for (const { measured, rounds } of gateways) rounds.push(await measure(measured, change))
    }
    console.log(`Node ${node.version}, ${change.name}`)
    print(gateways)
  }
  for (const { server } of started) await server.stop()
}

async function start(
  mode: string,
  node: Program,
  upstreamPort: number,
): Promise<{ server: ServerProcess; measured: Measured }> {
  const port = await freePort()
  const name = `${mode}-${node.version}`
  const { file, key } = await makeFiles(join(folder, name), { mode, port, upstreamPort })
  const command = [node.file, program, 'serve', '--config', file] as const
  const server = await startServer({ name, folder, command, port, core: undefined })
  return { server, measured: { mode, pid: server.pid, port, key } }
}

async function measure({ pid, port, key }: Measured, change: Change): Promise<Round> {
  const before = await cpuTimes(pid)
  const { requests, p50, p99, refused, broken } = await runWrk({
    connections: clients,
    seconds,
    headers: [`x-api-key: ${key}`, `content-type: ${change.contentType}`],
    url: `http://127.0.0.1:${port}${change.path}`,
    core: undefined,
    environment: { BENCH_BODY_FILE: change.bodyFile },
  })
  if (refused + broken > 0) throw new Error(`${refused + broken} changes of ${requests} failed`)
  const after = await cpuTimes(pid)
  return {
    median: p50 / 1_000,
    high: p99 / 1_000,
    main: (after.main - before.main) / requests,
    all: (after.all - before.all) / requests,
  }
}

function print(
  gateways: readonly { readonly measured: Measured; readonly rounds: readonly Round[] }[],
): void {
  const results = gateways.map(({ measured, rounds }) => {
    const middle = (member: keyof Round): number =>
      quantile(
        rounds.map((round) => round[member]),
        0.5,
      )
    const { mode } = measured
    return { mode, median: middle('median'), high: middle('high'), main: middle('main'), all: middle('all') }
  })
  const [asynchronous] = results
  for (const { mode, median, high, main, all } of results) {
    const times = `p50 ${formatIncrease(median, asynchronous?.median)}  p99 ${formatIncrease(high, asynchronous?.high)}`
    const cpu = `CPU ${main.toFixed(0)} us, of all threads ${all.toFixed(0)} us`
    console.log(`  ${mode.padEnd(10)}  ${times}  ${cpu}`)
  }
}

function formatIncrease(time: number, base = time): string {
  const increase = time - base
  return `${time.toFixed(2)} ms (${increase < 0 ? '' : '+'}${increase.toFixed(2)})`
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
    upstream: { url: `http://127.0.0.1:${upstreamPort}`, maxConnections: clients },
    identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
    policies: { folder: 'policies' },
    audit: { folder: 'audit', mode },
    log: { level: 'silent' },
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
