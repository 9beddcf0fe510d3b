import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { stringify } from 'yaml'
import { createKey } from '../../src/identity/api-key-store.ts'
import { everything } from '../gateway/open-gateway.ts'
import { textOf } from '../policy/written-policy.ts'

/*
 * What the audit log costs a commit: 16 committers at a time, each waiting for its answer before it goes on, against
 * gateways as built (`npm run build`) that differ in nothing but how they record commits. The loader that runs
 * TypeScript makes every closure cost more than it does, and so the log twice as much. The upstream is a server in the
 * process of this load that answers at once, so that what is measured is the gateway. Rounds are interleaved; prints,
 * for each mode, the medians over the rounds of: the median and the 99th percentile of the time of a commit, and what
 * the first is above that without a log; the CPU time of the gateway for a commit, of its main thread and of all its
 * threads. With 16 who wait, the gateway is never idle: where the machine has no cores to spare, the time of a commit
 * is 16 times the CPU time of all that takes part in one.
 */

const modes = ['off', 'besteffort', 'durable', 'strict'] as const
const committers = 16
const rounds = 9
const commits = 1_600
const body = JSON.stringify({
  version: 7,
  manifest_path: 'prod/orders/_versions/7.manifest',
  manifest_size: 4_096,
  e_tag: 'e',
})

const upstream = createServer((request, response) => {
  request.resume().once('end', () => response.end('{"version":{"version":7}}'))
})
await once(upstream.listen(0, '127.0.0.1'), 'listening')
const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`

const program = join(import.meta.dirname, '../../dist/main.js')
const folder = await mkdtemp(join(tmpdir(), 'audit-modes-'))

/** With cores to spare, the gateway has two of its own: one for its main thread, one for its disk. */
const pinning = process.platform === 'linux' && availableParallelism() >= 4 ? ['taskset', '-c', '0,1'] : []

const measured = await Promise.all(
  modes.map(async (mode) => {
    const { file, key } = await makeFiles(join(folder, mode), mode)
    const serve = [...pinning, process.execPath, program, 'serve', '--config', file]
    const child = spawn('env', serve, { stdio: ['ignore', 'pipe', 'inherit'] })
    const failed = once(child, 'exit').then(() => Promise.reject(new Error('the gateway did not start')))
    const [line] = (await Promise.race([once(child.stdout, 'data'), failed])) as [Buffer]
    failed.catch(() => undefined)
    const url = /^listening on (\S+)$/m.exec(String(line))?.[1] ?? ''
    const pool = new Pool(url, { connections: committers })
    const series = { medians: [], high: [], main: [], all: [] } as Record<
      'medians' | 'high' | 'main' | 'all',
      number[]
    >
    return { mode, child, key, pool, ...series }
  }),
)

for (let round = -1; round < rounds; round += 1) {
  for (const { child, key, pool, medians, high, main, all } of measured) {
    const before = await cpuTimes(child.pid)
    const times: number[] = []
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const commit = async (): Promise<void> => {
      for (let count = 0; count < commits / committers; count += 1) {
        const startedAt = performance.now()
        const answer = await pool.request({
          method: 'POST',
          path: '/v1/table/prod$orders/version/create',
          headers,
          body,
        })
        const text = await answer.body.text()
        if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}: ${text}`)
        times.push(performance.now() - startedAt)
      }
    }
    await Promise.all(Array.from({ length: committers }, commit))
    const after = await cpuTimes(child.pid)
    if (round < 0) continue
    main.push((after.main - before.main) / commits)
    all.push((after.all - before.all) / commits)
    times.sort((one, other) => one - other)
    medians.push(times[times.length >> 1] ?? 0)
    high.push(times[Math.floor(times.length * 0.99)] ?? 0)
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0
const base = median(measured[0]?.medians ?? [])
for (const { mode, medians, high, main, all } of measured) {
  const cost = median(medians) - base
  const times = `p50 ${median(medians).toFixed(2)} ms (+${cost.toFixed(2)})  p99 ${median(high).toFixed(2)} ms`
  const cpu = `CPU ${median(main).toFixed(0)} us, of all threads ${median(all).toFixed(0)} us`
  console.log(`${mode.padEnd(10)}  ${times}  ${cpu}`)
}

for (const { child, pool } of measured) {
  await pool.destroy()
  child.kill()
  if (child.exitCode === null) await once(child, 'exit')
}
upstream.close()
await rm(folder, { recursive: true })

/** The settings of a gateway that records commits in that mode, and the API key of who may make them. */
async function makeFiles(where: string, commit: string): Promise<{ file: string; key: string }> {
  const at = (name: string): string => join(where, name)
  const pepper = randomBytes(32).toString('base64url')
  await mkdir(at('policies'), { recursive: true })
  await writeFile(at('policies/policies.yaml'), textOf([everything]))
  await writeFile(at('pepper'), pepper)
  await writeFile(at('keys.yaml'), 'keys: []\n')
  const { text: key } = await createKey(at('keys.yaml'), Buffer.from(pepper), {
    principal: 'dev',
    groups: [],
  })
  const settings = {
    listen: { port: 0 },
    admin: { port: 0 },
    upstream: { url: upstreamUrl, maximumConnections: committers },
    identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
    policies: { folder: 'policies' },
    audit: { folder: 'audit', reserveBytes: 0, modes: { commit } },
    log: { level: 'silent' },
    unsafe: commit === 'off' ? ['audit-off'] : [],
  }
  await writeFile(at('gateway.yaml'), stringify(settings))
  return { file: at('gateway.yaml'), key }
}

/** The microseconds that a process has run, as Linux counts them; elsewhere 0. */
async function cpuTimes(pid: number | undefined): Promise<{ main: number; all: number }> {
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
