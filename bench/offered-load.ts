import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { limitsSchema } from '../src/config/listen-settings.ts'
import { openGateway, type TestedGateway } from '../test/gateway/support/open-gateway.ts'
import { isHealthCheck } from '../test/gateway/support/recording-upstream.ts'

/**
 * A simulated catalog with fixed concurrency and service time: 10 queries a second, so that the machine is never the
 * bottleneck.
 */
const connections = 4
const queryMs = 400
const readMs = 10
const reads = '/v1/table/orders/describe'
const queries = '/v1/table/orders/query'
const tickMs = 10

/** Results of requests sent at a fixed rate, independent of responses. */
export interface Served {
  /** Successful work of the catalog, in its milliseconds per second. */
  readonly workPerSecond: number
  readonly queries: { readonly served: number; readonly refused: number }
  readonly reads: { readonly served: number; readonly refused: number; readonly p99Ms: number }
}

export interface LoadedGateway {
  /**
   * Offers `times` the capacity, one request in ten a small read; counts responses after the first `resolveMs`, in
   * which the gateway can adapt.
   */
  offer(times: number, resolveMs: number, countMs: number): Promise<Served>
  close(): Promise<void>
}

export async function openLoadedGateway(loadSheddingThresholdMs: number): Promise<LoadedGateway> {
  const catalog = createServer((request, response) => {
    const milliseconds = isHealthCheck(request) ? 0 : request.url === queries ? queryMs : readMs
    request.resume().once('end', () => setTimeout(() => response.end('{}'), milliseconds))
  })
  catalog.listen(0, '127.0.0.1')
  await once(catalog, 'listening')
  const { port } = catalog.address() as AddressInfo
  const gateway = await openGateway(`http://127.0.0.1:${port}`, {
    tuning: { loadSheddingThresholdMs, upstream: { maxBulkConnections: connections } },
    adjust: (settings) => ({
      ...settings,
      upstreams: settings.upstreams.map((each) => ({
        ...each,
        maxConnections: connections,
      })),
      limits: limitsSchema.parse({}),
    }),
  })
  return {
    offer: (times, resolveMs, countMs) => offer(gateway, times, resolveMs, countMs),
    async close() {
      await gateway.close()
      catalog.closeAllConnections()
      await new Promise((resolve) => catalog.close(resolve))
    },
  }
}

async function offer(
  gateway: TestedGateway,
  times: number,
  resolveMs: number,
  countMs: number,
): Promise<Served> {
  const agent = new Agent()
  const headers = { 'x-api-key': gateway.key('dev'), 'content-type': 'application/json' }
  const counted = { queries: { served: 0, refused: 0 }, reads: { served: 0, refused: 0 } }
  const waits: number[] = []
  const under: Promise<void>[] = []
  const startedAt = performance.now()
  const isCounted = (now: number): boolean =>
    now >= startedAt + resolveMs && now < startedAt + resolveMs + countMs

  async function send(isRead: boolean): Promise<void> {
    const sentAt = performance.now()
    const target = gateway.url + (isRead ? reads : queries)
    const { statusCode, body } = await request(target, {
      dispatcher: agent,
      method: 'POST',
      headers,
      body: '{}',
    })
    await body.dump()
    const now = performance.now()
    // Counts all reads that begin in this time, including the slowest.
    if (isRead && isCounted(sentAt)) waits.push(now - sentAt)
    if (isCounted(now)) counted[isRead ? 'reads' : 'queries'][statusCode === 200 ? 'served' : 'refused'] += 1
  }

  const perMs = (times * connections) / queryMs
  let sent = 0
  for (let elapsed = 0; elapsed < resolveMs + countMs; elapsed = performance.now() - startedAt) {
    for (; sent < elapsed * perMs; sent += 1) under.push(send(sent % 10 === 0))
    await pause(tickMs)
  }
  await Promise.all(under)
  await agent.close()
  const work = counted.queries.served * queryMs + counted.reads.served * readMs
  return {
    workPerSecond: (work * 1000) / countMs,
    queries: counted.queries,
    reads: {
      ...counted.reads,
      p99Ms: waits.toSorted((one, other) => one - other)[Math.floor(waits.length * 0.99)] ?? 0,
    },
  }
}
