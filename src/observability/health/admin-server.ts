import { isIP } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import type { GatewaySettings } from '../../config/index.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { formatAuthority, parseHostName } from '../../lib/index.ts'

type AdminAccess = Pick<GatewaySettings['admin'], 'host' | 'allowedHosts'>

/** Few clients poll this port, with small requests. */
const maxConnections = 100
const timeoutMs = 10_000

const unexpectedHost = 'unexpected host; expected an IP address, localhost, or a name of admin.allowedHosts'

const unknownRoute =
  'unknown route of the admin port, which serves /livez, /readyz and /metrics; the catalog API is on the port of "listen"'

/**
 * `/livez` responds while the event loop runs; `/readyz` responds with 503 and the problems by name while there are
 * any, and lists warnings in any case; `onReadinessAsked` is called for each request for it. No endpoint needs credentials:
 * keep the port off public networks. Requests for hosts that are not allowed get 403.
 */
export function createAdminServer(
  registries: readonly Registry[],
  checks: readonly ReadinessCheck[],
  access: AdminAccess,
  onReadinessProbe: () => void = () => undefined,
): FastifyInstance {
  const server = fastify({
    forceCloseConnections: true,
    requestTimeout: timeoutMs,
    keepAliveTimeout: timeoutMs,
    http: { headersTimeout: timeoutMs },
  })
  server.server.maxConnections = maxConnections
  const isAllowedHost = createHostTest(access)
  server.addHook('onRequest', (request, reply, next) => {
    if (isAllowedHost(request.headers.host)) next()
    else void reply.code(403).send({ error: unexpectedHost })
  })
  server.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: unknownRoute }))
  server.get('/livez', () => ({ status: 'ok' }))
  server.get('/readyz', async (_request, reply) => {
    onReadinessProbe()
    const { problems, warnings } = await readReadiness(checks)
    const isReady = Object.keys(problems).length === 0
    return reply.code(isReady ? 200 : 503).send({
      status: isReady ? 'ready' : 'not ready',
      ...(!isReady && { problems }),
      ...(Object.keys(warnings).length > 0 && { warnings }),
    })
  })
  server.get('/metrics', async (_request, reply) => {
    const texts = await Promise.all(registries.map((registry) => registry.metrics()))
    return reply.header('content-type', Registry.PROMETHEUS_CONTENT_TYPE).send(texts.join('\n'))
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
  return `http://${formatAuthority(host, bound)}`
}

/**
 * Creates the test of the `host` header of a request. The admin port needs no credentials, and a page can give its own
 * name any address (DNS rebinding). It cannot do so with an address or with localhost, and browsers always send the header.
 */
function createHostTest({ host, allowedHosts }: AdminAccess): (header: string | undefined) => boolean {
  const allowed = [host.toLowerCase(), '.localhost', ...allowedHosts]
  return (header) => {
    // Of a client without an authority (RFC 9112, section 3.2).
    if (header === undefined || header === '') return true
    const name = parseHostName(header)
    return (
      isIP(name) !== 0 ||
      allowed.some((one) => (one.startsWith('.') ? `.${name}`.endsWith(one) : name === one))
    )
  }
}

/** A condition for receiving requests. */
export interface ReadinessCheck {
  readonly name: string
  /** Whether a problem is only reported, and the gateway receives requests nevertheless. */
  readonly isWarning?: boolean
  /** In words for an operator; undefined if the check passes. */
  readonly findProblem: () => string | undefined | Promise<string | undefined>
}

/** Returns the problems and warnings by the names of the checks. A gateway is ready if it has no problems. */
export async function readReadiness(checks: readonly ReadinessCheck[]) {
  const problems: Record<string, string> = {}
  const warnings: Record<string, string> = {}
  for (const { name, isWarning = false, findProblem } of checks) {
    const found = await findProblem()
    if (found !== undefined) (isWarning ? warnings : problems)[name] = found
  }
  return { problems, warnings }
}

/** Exports later why requests were not routed to this gateway. */
export function exportReadiness({ ready }: Metrics, checks: readonly ReadinessCheck[]): void {
  ready(async () => {
    const { problems } = await readReadiness(checks)
    return checks
      .filter(({ isWarning = false }) => !isWarning)
      .map(({ name }) => [{ check: name }, name in problems ? 0 : 1])
  })
}
