import type { IncomingMessage, ServerResponse } from 'node:http'
import fastify, { type FastifyInstance } from 'fastify'
import { destination, pino, type Logger } from 'pino'
import {
  acceptRequestId,
  type BuiltInOperation,
  CatalogError,
  getOpenApiDocument,
  openApiPath,
  parseTarget,
  requestIdHeader,
  respondToUnparsed,
  toUnparsedRequestError,
} from 'catalog-gateway/catalog-api'
import { openAccessTokens, type AccessTokens, createAccessTokenCheck } from './http/access-tokens.ts'
import { sendResponse, toCatalogError, sendError } from './http/send-response.ts'
import { openCatalog, type Catalog } from './open-catalog.ts'
import type { BackendSettings } from './settings/backend-settings.ts'
import { selectClientDialect } from './http/client-dialect.ts'
import { executeOperation } from './http/execute-operation.ts'
import { createEntityTag, createFileFollower, createReloadLog, listsEntityTag } from 'catalog-gateway/lib'
import { openOutbound } from 'catalog-gateway/outbound'

export interface Backend {
  /** `http://HOST:PORT` */
  readonly url: string
  /** Stops accepting connections, drains requests within bounds, and closes the catalog. */
  readonly close: () => Promise<void>
}

/** Fits a route with 4096 bytes of id, percent-encoded, and a token. */
const maxHeaderBytes = 32 * 1024
/** Longer than clients keep idle connections, so that clients close first. */
const keepAliveTimeoutMs = 75_000
/** Ends the connection of a client that vanished while its operation runs. */
const tcpProbeMs = 60_000
const idleSweepIntervalMs = 50
/** Limit for draining the body of a refused request. */
const drainTimeoutMs = 10_000
/** Limit for draining requests during shutdown. */
const shutdownTimeoutMs = 20_000

/** Rejects if the catalog cannot be opened or the address is in use. */
export async function startBackend(settings: BackendSettings): Promise<Backend> {
  const log = pino({ level: settings.log.level, base: null }, destination(2))
  const files = createFileFollower(createReloadLog(log))
  const outbound = await openOutbound(settings.outbound, process.env, files.follow)
  const catalog = await openCatalog(settings, log, outbound)
  const tokens = await openAccessTokens(settings, files.follow).catch(async (error: unknown) => {
    await catalog.close()
    throw error
  })
  const server = createServer(catalog, settings.limits.maxJsonBytes, tokens, log)
  const close = async (): Promise<void> => {
    // A response that ends during shutdown would leave its connection open, and shutdown would wait for it.
    const sweep = setInterval(() => server.server.closeIdleConnections(), idleSweepIntervalMs)
    const deadline = setTimeout(() => server.server.closeAllConnections(), shutdownTimeoutMs)
    await server.close()
    clearInterval(sweep)
    clearTimeout(deadline)
    files.close()
    await catalog.close()
  }
  try {
    return { url: await server.listen(settings.listen), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Matches routes on the raw request target. Handles requests before fastify parses the body, whose format varies. */
function createServer(
  catalog: Catalog,
  maxJsonBytes: number,
  tokens: AccessTokens,
  log: Logger,
): FastifyInstance {
  const document = getOpenApiDocument()
  const documentTag = createEntityTag(document)
  const checkAccess = createAccessTokenCheck(() => tokens.current)
  const server = fastify({
    keepAliveTimeout: keepAliveTimeoutMs,
    http: { maxHeaderSize: maxHeaderBytes, keepAlive: true, keepAliveInitialDelay: tcpProbeMs },
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // Bypasses fastify's router, which decodes and normalizes targets.
    rewriteUrl: () => '/',
    clientErrorHandler: (error, socket) =>
      respondToUnparsed(socket, toUnparsedRequestError(error, maxHeaderBytes)),
  })

  server.addHook('onRequest', async (request, reply) => {
    const requestId = acceptRequestId(request.headers[requestIdHeader])
    const dialect = selectClientDialect(request.headers)
    const signal = createAbortSignal(reply.raw)
    /** A target beside the catalog API. */
    const page = ['GET', 'HEAD'].includes(request.method) ? request.originalUrl : undefined
    let operation: BuiltInOperation | undefined
    reply.header(requestIdHeader, requestId).headers(dialect.responseHeaders)
    try {
      if (page === '/livez' && !catalog.isAlive())
        throw new CatalogError('ServiceUnavailable', 'the engine is stalled; restart the catalog')
      if (page === '/readyz') await catalog.checkReady()
      if (page === '/livez' || page === '/readyz') return reply.send({ status: 'ok' })
      if (page === openApiPath) {
        reply.headers({ 'content-type': 'application/json', 'cache-control': 'no-cache', etag: documentTag })
        const known = request.headers['if-none-match']
        if (known !== undefined && listsEntityTag(known, documentTag)) return reply.code(304).send()
        return reply.send(document)
      }
      checkAccess(request.headers.authorization)
      const route = parseTarget(request.method, request.originalUrl)
      operation = route.operation
      log.debug({ requestId, operation: operation.name, id: route.id }, 'request received')
      const result = await executeOperation(catalog, maxJsonBytes, request, route, dialect)
      return sendResponse(reply, operation, result, (error) => {
        if (!signal.aborted) log.error({ err: error, requestId }, 'response aborted')
      })
    } catch (error) {
      const refusal = toCatalogError(error)
      if (refusal.status >= 500 && !signal.aborted)
        log.error({ err: refusal.cause, requestId }, refusal.message)
      drain(request.raw)
      return sendError(reply, dialect.writeError(operation?.name, refusal), requestId)
    }
  })
  return server
}

function createAbortSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) controller.abort()
  })
  return controller.signal
}

/** The rest of a refused body is read, because many clients read the response only after sending. */
function drain(request: IncomingMessage): void {
  if (request.complete) return
  const timer = setTimeout(() => request.destroy(), drainTimeoutMs).unref()
  request.once('close', () => clearTimeout(timer))
  // Unlike `resume`, a listener also takes effect after a reader that still awaits a chunk has stopped.
  request.on('data', () => {})
}
