import fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { expose } from './exposition.ts'
import { processMetrics } from './process-metrics.ts'
import { observeReadiness, problemsOf, type ReadinessCheck } from './readiness.ts'

/** Those who ask are few, and send little. */
const maximumConnections = 100
const patienceMs = 10_000

/**
 * The server of the admin port: `/livez` answers as long as the event loop turns, whatever else is wrong; `/readyz`
 * answers 503 and says what is wrong until every check is well; `/metrics` is for Prometheus. It needs no credentials:
 * keep it off public networks.
 */
export function createAdminServer(registry: Registry, checks: readonly ReadinessCheck[]): FastifyInstance {
  const server = fastify({
    forceCloseConnections: true,
    requestTimeout: patienceMs,
    keepAliveTimeout: patienceMs,
    http: { headersTimeout: patienceMs },
  })
  server.server.maxConnections = maximumConnections
  server.get('/livez', () => ({ status: 'ok' }))
  server.get('/readyz', async (_request, reply) => {
    const problems = await problemsOf(checks)
    const ready = Object.keys(problems).length === 0
    return reply.code(ready ? 200 : 503).send(ready ? { status: 'ready' } : { status: 'not ready', problems })
  })
  observeReadiness(registry, checks)
  server.get('/metrics', async (request, reply) => {
    const { contentType, text } = await expose([processMetrics(), registry], request.headers.accept)
    return reply.header('content-type', contentType).send(text)
  })
  return server
}
