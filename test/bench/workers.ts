import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { runWrk } from './load.ts'
import { processorMicroseconds } from './process-cost.ts'

/*
 * Measures the benefit of workers: the same load (wrk, 64 persistent connections) against gateways as built (`npm run
 * build`) that only differ in their number of workers, in interleaved rounds. `denied` gets a 403 with an audit record
 * and involves only the gateway; `read` is forwarded to a server in the process of this load that responds at once.
 * Nothing is bound to cores: wrk, and for `read` that server, use the same cores, so that on two cores twice as many
 * workers cannot do twice as much. Prints the medians over the rounds of: requests per second relative to one worker;
 * the CPU time of all gateway processes per request; and the cores they used.
 */

const counts = [1, 2, 4, 8].filter((workers) => workers === 1 || workers <= availableParallelism())
const rounds = 5
const seconds = 4
const connections = 64
const kinds = { denied: 'nobody', read: 'dev' } as const

const upstream = createServer((request, response) => {
  request.resume().once('end', () => response.end('{"version":7}'))
})
await once(upstream.listen(0, '127.0.0.1'), 'listening')
const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
const program = join(import.meta.dirname, '../../dist/main.js')
const folder = await mkdtemp(join(tmpdir(), 'workers-'))

interface Gateway {
  readonly workers: number
  readonly pid: number
  readonly url: string
  readonly keys: Readonly<Record<string, string>>
  readonly stop: () => Promise<void>
}

interface Round {
  readonly rate: number
  readonly microseconds: number
  readonly cores: number
}

for (const [kind, principal] of Object.entries(kinds)) {
  const gateways = await Promise.all(counts.map(startGateway))
  const measured = new Map<number, Round[]>(counts.map((workers) => [workers, []]))
  for (let round = -1; round < rounds; round += 1) {
    for (const gateway of gateways) {
      const result = await load(gateway, principal)
      if (round >= 0) measured.get(gateway.workers)?.push(result)
    }
  }
  const base = medianOf(measured.get(1) ?? [], ({ rate }) => rate)
  for (const [workers, results] of measured) {
    const rate = medianOf(results, (result) => result.rate)
    const cpu = medianOf(results, ({ microseconds }) => microseconds).toFixed(0)
    const cores = medianOf(results, (result) => result.cores).toFixed(2)
    const relation = `${rate.toFixed(0)} a second (${(rate / base).toFixed(2)} times)`
    console.log(
      `${kind.padEnd(7)} workers ${workers}  ${relation}  CPU ${cpu} us a request, on ${cores} cores`,
    )
  }
  for (const { stop } of gateways) await stop()
}
upstream.close()
await rm(folder, { recursive: true })

async function load({ pid, url, keys }: Gateway, principal: string): Promise<Round> {
  const before = processorMicroseconds(pid)
  const { requests, microseconds } = await runWrk({
    connections,
    seconds,
    headers: [`x-api-key: ${keys[principal]}`],
    url: `${url}/v1/table/prod$orders/describe`,
    core: undefined,
    environment: {},
  })
  const spent = processorMicroseconds(pid) - before
  return {
    rate: requests / (microseconds / 1e6),
    microseconds: spent / requests,
    cores: spent / microseconds,
  }
}

async function startGateway(workers: number): Promise<Gateway> {
  const where = await mkdtemp(join(folder, 'gateway-'))
  const { file, keys } = await makeFiles(where, workers)
  const child = spawn(process.execPath, [program, 'serve', '--config', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const failed = once(child, 'exit').then(() => Promise.reject(new Error('the gateway did not start')))
  const [line] = (await Promise.race([once(child.stdout, 'data'), failed])) as [Buffer]
  failed.catch(() => undefined)
  return {
    workers,
    pid: child.pid ?? 0,
    url: /^listening on (\S+)$/m.exec(String(line))?.[1] ?? '',
    keys,
    async stop() {
      child.kill()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

async function makeFiles(where: string, workers: number) {
  const at = (name: string): string => join(where, name)
  const pepper = 'a-pepper-of-at-least-thirty-two-characters'
  await mkdir(at('policies'))
  await writeFile(at('policies/policies.yaml'), formatPolicies([allowEverything]))
  await writeFile(at('pepper'), pepper)
  await writeFile(at('keys.yaml'), 'keys: []\n')
  const keys: Record<string, string> = {}
  for (const principal of Object.values(kinds)) {
    keys[principal] = (await createKey(at('keys.yaml'), Buffer.from(pepper), { principal, groups: [] })).text
  }
  const settings = {
    workers,
    listen: { port: 0 },
    admin: { port: 0 },
    upstream: { url: upstreamUrl },
    identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
    policies: { folder: 'policies' },
    audit: { folder: 'audit', reserveBytes: 0 },
    log: { level: 'silent' },
  }
  await writeFile(at('gateway.yaml'), stringify(settings))
  return { file: at('gateway.yaml'), keys }
}

function medianOf(results: readonly Round[], value: (result: Round) => number): number {
  const sorted = results.map(value).toSorted((one, other) => one - other)
  return sorted[sorted.length >> 1] ?? 0
}
