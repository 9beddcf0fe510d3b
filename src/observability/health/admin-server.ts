import fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { renderMetrics } from '../metrics/render-metrics.ts'
import type { Readiness } from './readiness.ts'

/** Few clients poll this port, with small requests. */
const maxConnections = 100
const timeoutMs = 10_000

/**
 * `/livez` responds while the event loop runs; `/readyz` responds with 503 and the problems by name while there are
 * any, and lists warnings in any case. No endpoint needs credentials: keep the port off public networks.
 */
export function createAdminServer(
  registries: () => readonly Registry[] | Promise<readonly Registry[]>,
  findReadiness: () => Promise<Readiness>,
): FastifyInstance {
  const server = fastify({
    forceCloseConnections: true,
    requestTimeout: timeoutMs,
    keepAliveTimeout: timeoutMs,
    http: { headersTimeout: timeoutMs },
  })
  server.server.maxConnections = maxConnections
  server.get('/livez', () => ({ status: 'ok' }))
  server.get('/readyz', async (_request, reply) => {
    const { problems, warnings } = await findReadiness()
    const isReady = Object.keys(problems).length === 0
    return reply.code(isReady ? 200 : 503).send({
      status: isReady ? 'ready' : 'not ready',
      ...(!isReady && { problems }),
      ...(Object.keys(warnings).length > 0 && { warnings }),
    })
  })
  server.get('/metrics', async (request, reply) => {
    const { contentType, text } = await renderMetrics(await registries(), request.headers.accept)
    return reply.header('content-type', contentType).send(text)
  })
  return server
}

/** Resolves with the URL of the server when it accepts requests. */
export async function listen(
  server: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> {
  await server.listen({ host, port })
  const address = server.server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
}
