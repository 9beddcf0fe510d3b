import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Pool } from 'undici'

/*
 * What the audit log costs a commit: 16 committers at a time, each waiting for its answer before it goes on, against
 * gateways that differ in nothing but how they record commits. Rounds are interleaved; prints, for each mode, medians
 * over the rounds of the median and of the 99th percentile, and what they are above those without a log.
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

const measured = await Promise.all(
  modes.map(async (mode) => {
    const program = join(import.meta.dirname, 'audited-gateway-process.ts')
    const child = spawn(process.execPath, ['--import', 'tsx', program, upstreamUrl, mode], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const { url, key } = JSON.parse(String(line)) as { url: string; key: string }
    const pool = new Pool(url, { connections: committers })
    return { mode, child, key, pool, medians: [] as number[], high: [] as number[] }
  }),
)

for (let round = -1; round < rounds; round += 1) {
  for (const { key, pool, medians, high } of measured) {
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
    if (round < 0) continue
    times.sort((one, other) => one - other)
    medians.push(times[times.length >> 1] ?? 0)
    high.push(times[Math.floor(times.length * 0.99)] ?? 0)
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0
const base = median(measured[0]?.medians ?? [])
for (const { mode, medians, high } of measured) {
  const cost = median(medians) - base
  console.log(
    `${mode.padEnd(10)}  p50 ${median(medians).toFixed(2)} ms (+${cost.toFixed(2)})  p99 ${median(high).toFixed(2)} ms`,
  )
}

for (const { child, pool } of measured) {
  await pool.destroy()
  child.stdin.end()
}
upstream.close()
