import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describeTables } from '../attacks/describe-tables.ts'
import { startRecordingUpstream } from '../gateway/recording-upstream.ts'
import { quantile } from './figures.ts'

/*
 * How long a small call takes while a thousand connections send a byte a second each, against how long it takes
 * without them: p50 and p99 of both, the rounds interleaved.
 */

const slowConnections = 1_000
const requests = 1_000
const rounds = 5

const upstream = await startRecordingUpstream()
const gateway = await startScript('../gateway/gateway-process.ts', upstream.url)
const { url, key } = JSON.parse(gateway.firstLine) as { url: string; key: string }
const alone: number[] = []
const beside: number[] = []
await describeTables(url, key, requests)
for (let round = 0; round < rounds; round += 1) {
  alone.push(...(await describeTables(url, key, requests)).milliseconds)
  const slow = await startScript('../attacks/slow-clients-process.ts', url, key, String(slowConnections))
  beside.push(...(await describeTables(url, key, requests)).milliseconds)
  slow.process.kill('SIGKILL')
}
for (const share of [0.5, 0.99]) {
  const [one, other] = [quantile(alone, share), quantile(beside, share)]
  console.log(
    `p${share * 100}: alone ${one.toFixed(2)} ms, beside ${slowConnections} slow connections ${other.toFixed(2)} ms (${(other / one).toFixed(2)} times)`,
  )
}
gateway.process.kill('SIGTERM')
await upstream.close()

/** Starts a script in a process of its own, and waits for its first line. */
async function startScript(
  file: string,
  ...parameters: readonly string[]
): Promise<{ process: ChildProcess; firstLine: string }> {
  const script = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...parameters], {
    // A gateway closes where its standard input ends.
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout }))
    return { process: child, firstLine: line }
  throw new Error(`${file} ended before it was ready`)
}
