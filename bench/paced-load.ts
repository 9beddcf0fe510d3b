import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const requestsPerSecond = 500
const tables = 100
const responseMs = 60_000

interface PacedLoad {
  readonly port: number
  /** Path with the table `small`. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Sends 500 small requests a second for `seconds`, independent of responses. Resolves to their latencies in
 * milliseconds; rejects if a status is not 200.
 */
export async function pacedLatencies(load: PacedLoad, seconds: number): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true })
  const latencies: Promise<number>[] = []
  const startedAt = performance.now()
  for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - startedAt) {
    for (const due = (elapsed * requestsPerSecond) / 1000; latencies.length < due;) {
      const path = load.path.replace('$small', `$small-${latencies.length % tables}`)
      const latency = send({ ...load, path }, agent)
      // Awaited below.
      latency.catch(() => undefined)
      latencies.push(latency)
    }
    await pause(1)
  }
  try {
    return await Promise.all(latencies)
  } finally {
    agent.destroy()
  }
}

function send({ port, path, headers }: PacedLoad, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const sentAt = performance.now()
    const fields = { ...headers, 'content-length': '0' }
    const signal = AbortSignal.timeout(responseMs)
    request({ agent, port, path, signal, host: '127.0.0.1', method: 'POST', headers: fields }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`unexpected status ${response.statusCode}`))
      response.resume().once('end', () => resolve(performance.now() - sentAt))
    })
      .once('error', reject)
      .end()
  })
}
