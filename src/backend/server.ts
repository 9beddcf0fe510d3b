import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { destination, pino } from 'pino'
import {
  acceptRequestId,
  type BuiltInOperation,
  getOpenApiDocument,
  openApiPath,
  parseTarget,
  requestIdHeader,
} from 'catalog-gateway/catalog-api'
import { createFileFollower, formatAuthority, listenOn } from 'catalog-gateway/lib'
import { openOutbound } from 'catalog-gateway/outbound'
import { checkAccess, openAccessTokens } from './http/access-tokens.ts'
import { selectClientDialect } from './http/client-dialect.ts'
import { executeOperation } from './http/execute-operation.ts'
import { createBodyReader } from './http/request-body.ts'
import { jsonType, type Reply, sendReply, toJsonReply, toReply } from './http/send-response.ts'
import { createMetrics } from './metrics.ts'
import type { CatalogContext } from './catalog/context.ts'
import { toCatalogError } from './catalog/known-errors.ts'
import { checkReady, openCatalog } from './catalog/open-catalog.ts'
import type { BackendSettings } from './settings/backend-settings.ts'

const connectionOptions = {
  // Fits a route with 4096 bytes of id, percent-encoded, and a token.
  maxHeaderSize: 32 * 1024,
  headersTimeout: 60_000,
  // Bodies have a timeout for each chunk.
  requestTimeout: 0,
  // Longer than clients keep idle connections, so that clients close first.
  keepAliveTimeout: 75_000,
  // Ends the connection of a client that vanished while its operation runs.
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
}
const idleSweepIntervalMs = 50
/** Limit for draining the body of a refused request. */
const drainTimeoutMs = 10_000
/** Limit for draining requests during shutdown. */
const shutdownTimeoutMs = 20_000

/** Returns the URL, without a path. Rejects if the catalog cannot be opened or the address is in use. */
export async function startBackend(settings: BackendSettings) {
  const log = pino({ level: settings.log.level, base: null }, destination(2))
  const files = createFileFollower(log)
  const outbound = await openOutbound(settings.outbound, process.env, files.follow)
  const tokens = await openAccessTokens(settings, files.follow)
  const catalog = await openCatalog(settings, log, outbound)
  const server = createServer(connectionOptions, createRequestListener(catalog, settings.limits, tokens))
  /** Stops accepting connections, drains requests within bounds, and closes the catalog. */
  const close = async (): Promise<void> => {
    // A response that ends during shutdown would leave its connection open, and shutdown would wait for it.
    const sweep = setInterval(() => server.closeIdleConnections(), idleSweepIntervalMs)
    const deadline = setTimeout(() => server.closeAllConnections(), shutdownTimeoutMs)
    await new Promise((resolve) => server.close(resolve))
    clearInterval(sweep)
    clearTimeout(deadline)
    files.close()
    await catalog.close()
  }
  try {
    const { host } = settings.listen
    return { url: `http://${formatAuthority(host, await listenOn(server, settings.listen))}`, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Serves the operations of the catalog API by the raw request target, and to anybody the pages beside it. */
function createRequestListener(
  catalog: CatalogContext,
  limits: BackendSettings['limits'],
  tokens: Awaited<ReturnType<typeof openAccessTokens>>,
): RequestListener {
  const { log } = catalog
  const bodies = createBodyReader(limits)
  const { registry, startRequest } = createMetrics(catalog, bodies.getReservedBytes)

  const getPage = async (url: string): Promise<Reply | undefined> => {
    if (url === '/metrics') {
      const headers = { 'content-type': registry.contentType }
      return { status: 200, headers, body: await registry.metrics() }
    }
    if (url === openApiPath)
      return { status: 200, headers: { 'content-type': jsonType }, body: getOpenApiDocument() }
    if (url !== '/livez' && url !== '/readyz') return undefined
    if (url === '/readyz') await checkReady(catalog)
    return toJsonReply({ status: 'ok' })
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request
    const requestId = acceptRequestId(headers[requestIdHeader])
    const dialect = selectClientDialect(headers)
    response.setHeaders(
      new Map(Object.entries({ [requestIdHeader]: requestId, ...dialect?.responseHeaders })),
    )
    let operation: BuiltInOperation | undefined
    let hasLeft = false
    const endRequest = startRequest()
    response.once('close', () => {
      hasLeft = !response.writableFinished
      endRequest(operation?.name ?? 'none', response.statusCode)
    })
    try {
      const page = ['GET', 'HEAD'].includes(method) ? await getPage(url) : undefined
      if (page !== undefined) return await sendReply(response, page)
      checkAccess(tokens.current, headers.authorization)
      const route = parseTarget(method, url)
      operation = route.operation
      log.debug({ requestId, operation: operation.name, id: route.id }, 'request received')
      const result = await executeOperation(catalog, bodies, request, route, dialect)
      await sendReply(response, toReply(operation, result, headers.accept), (failure) =>
        log.error({ err: failure, requestId }, 'response aborted'),
      )
    } catch (error) {
      const refusal = toCatalogError(error)
      if (refusal.status >= 500 && !hasLeft) log.error({ err: refusal.cause, requestId }, refusal.message)
      drain(request)
      const answer = dialect?.writeError(operation?.name, refusal) ?? refusal
      await sendReply(response, toJsonReply(answer.toResponse(requestId), answer.status, answer.headers))
    }
  }
  return (request, response) => void serve(request, response)
}

/** The rest of a refused body is read, because many clients read the response only after sending. */
function drain(request: IncomingMessage): void {
  if (request.complete) return
  const timer = setTimeout(() => request.destroy(), drainTimeoutMs).unref()
  request.once('close', () => clearTimeout(timer))
  // Unlike `resume`, a listener also takes effect after a reader that still awaits a chunk has stopped.
  request.on('data', () => {})
}
