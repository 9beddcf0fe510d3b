import fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

/** Those who ask are few, and send little. */
const maximumConnections = 100
const patienceMs = 10_000

/** One thing that must be well before requests are sent here. */
export interface ReadinessCheck {
  readonly name: string
  /** Undefined when well, or else what is wrong, in words for an operator. */
  readonly problem: () => string | undefined | Promise<string | undefined>
}

/**
 * The server of the admin port: `/livez` answers while the process can; `/readyz` answers 503 and says what is
 * wrong until every check is well; `/metrics` is for Prometheus. It needs no credentials: keep it off public networks.
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
    const problems: Record<string, string> = {}
    for (const { name, problem } of checks) {
      const found = await problem()
      if (found !== undefined) problems[name] = found
    }
    const ready = Object.keys(problems).length === 0
    return reply.code(ready ? 200 : 503).send(ready ? { status: 'ready' } : { status: 'not ready', problems })
  })
  server.get('/metrics', async (_request, reply) =>
    reply.header('content-type', registry.contentType).send(await registry.metrics()),
  )
  return server
}
