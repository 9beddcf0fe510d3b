import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describeTables } from './describe-tables.ts'
import { startRecordingUpstream, type RequestHandler } from '../test/gateway/support/recording-upstream.ts'
import { quantile } from './statistics.ts'

const requests = 1_000
const rounds = 5

interface SlowClients {
  /** A script, as a path from here, that opens `count` connections, and prints a line when all are open. */
  readonly script: string
  readonly count: number
  readonly what: string
  /** Upstream response; empty by default. */
  readonly handler?: RequestHandler
}

/**
 * Measures the latency of a small request with and without slow clients that hold connections, alternately; prints the
 * medians of p50 and p99 over five rounds.
 */
export async function measureBeside({ script, count, what, handler }: SlowClients): Promise<void> {
  const upstream = await startRecordingUpstream()
  if (handler !== undefined) upstream.handler = handler
  const gateway = await startScript('../test/gateway/support/gateway-process.ts', upstream.url)
  const { url, key } = JSON.parse(gateway.firstLine) as { url: string; key: string }
  const measured: { readonly alone: number[]; readonly beside: number[] }[] = []
  await describeTables(url, key, requests)
  for (let round = 0; round < rounds; round += 1) {
    const alone = await describeTables(url, key, requests)
    const slow = await startScript(script, url, key, String(count))
    const beside = await describeTables(url, key, requests)
    slow.process.kill('SIGKILL')
    if (beside.statuses.get(200) !== requests)
      console.log(`not all were served: ${JSON.stringify([...beside.statuses])}`)
    measured.push({ alone: alone.milliseconds, beside: beside.milliseconds })
  }
  for (const capacity of [0.5, 0.99]) {
    const figures = measured.map(
      ({ alone, beside }) => [quantile(alone, capacity), quantile(beside, capacity)] as const,
    )
    const alone = quantile(
      figures.map(([one]) => one),
      0.5,
    )
    const beside = quantile(
      figures.map(([, other]) => other),
      0.5,
    )
    const ratio = quantile(
      figures.map(([one, other]) => other / one),
      0.5,
    )
    console.log(
      `p${capacity * 100}: alone ${alone.toFixed(2)} ms, beside ${what} ${beside.toFixed(2)} ms (${ratio.toFixed(2)} times)`,
    )
  }
  gateway.process.kill('SIGTERM')
  await upstream.close()
}

/** Starts a script in a process of its own, and waits for its first line. */
async function startScript(
  file: string,
  ...parameters: readonly string[]
): Promise<{ process: ChildProcess; firstLine: string }> {
  const script = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...parameters], {
    // A gateway stops when its standard input ends.
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout }))
    return { process: child, firstLine: line }
  throw new Error(`${file} ended before it was ready`)
}
