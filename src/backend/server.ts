import type { IncomingMessage, ServerResponse } from 'node:http'
import fastify, { type FastifyInstance } from 'fastify'
import { destination, pino, type Logger } from 'pino'
import { CatalogError } from '../catalog-api/catalog-error.ts'
import { requestIdHeader, acceptRequestId } from '../catalog-api/headers.ts'
import { openApiPath, getOpenApiDocument } from '../catalog-api/openapi/openapi-document.ts'
import type { Operation } from '../catalog-api/operations.ts'
import { parseTarget } from '../catalog-api/request-target.ts'
import { respondToUnparsed, toUnparsedRequestError } from '../catalog-api/responses/unparsed-request.ts'
import { createAccessTokenCheck } from './http/verify-access-token.ts'
import { sendResponse, toCatalogError, sendError } from './http/send-response.ts'
import type { Catalog } from './contract/catalog.ts'
import type { BackendSettings } from '../config/backend/backend-settings.ts'
import { clientDialectOf } from './dialects/lancedb.ts'
import { executeOperation, type OperationContext } from './http/execute-operation.ts'

/** A catalog that answers requests. */
export interface Backend {
  /** `http://HOST:PORT` */
  readonly url: string
  /** Takes no more connections, lets the requests under way end within bounds, and lets go of the catalog. */
  readonly close: () => Promise<void>
}

/** A route of 4096 bytes of id, percent-encoded, and a token must fit. */
const maxHeaderBytes = 32 * 1024
/** Longer than clients keep idle connections, so that they close first. */
const keepAliveTimeout = 75_000
const sweepMs = 50
/** How long a client may go on sending what nobody wants. */
const drainTimeoutMs = 10_000
/** How long requests under way may take to end when the catalog is closed. */
const shutdownTimeoutMs = 20_000

/**
 * Starts the server in front of the catalog of the settings, embedded or remote, and listens. Rejects when the
 * catalog cannot be opened or the address is taken; a remote catalog need not be there yet.
 */
export async function startBackend(settings: BackendSettings): Promise<Backend> {
  const log = pino({ level: settings.log.level, base: null }, destination(2))
  const catalog = await openCatalog(settings, log)
  const { limits, accessToken } = settings
  const parts = { catalog, maxJsonBytes: limits.maxJsonBytes, hasAccessToken: accessToken !== undefined }
  const server = createServer(parts, accessToken, log)
  const close = async (): Promise<void> => {
    // A connection whose answer ends only now would be kept alive, and waited for.
    const sweep = setInterval(() => server.server.closeIdleConnections(), sweepMs)
    const deadline = setTimeout(() => server.server.closeAllConnections(), shutdownTimeoutMs)
    await server.close()
    clearInterval(sweep)
    clearTimeout(deadline)
    await catalog.close()
  }
  try {
    return { url: await server.listen(settings.listen), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Only what is needed is loaded: in front of a remote catalog, no engine takes memory. */
async function openCatalog(settings: BackendSettings, log: Logger): Promise<Catalog> {
  const { data, catalog } = settings
  if (catalog.remote !== undefined) {
    const { openRemoteCatalog } = await import('./remote/remote-catalog.ts')
    return await openRemoteCatalog(catalog.remote)
  }
  if (data === undefined) throw new Error('no catalog configured')
  const { openEmbeddedCatalog } = await import('./embedded-catalog.ts')
  return await openEmbeddedCatalog({ ...settings, data }, log)
}

/**
 * The routes are those of the interface, and its own parser reads them from the raw request target. A request is
 * answered before fastify would look at its body, of which only the operation knows the form.
 */
function createServer(
  parts: OperationContext,
  accessToken: string | undefined,
  log: Logger,
): FastifyInstance {
  const document = getOpenApiDocument()
  const checkAccess = createAccessTokenCheck(accessToken)
  const server = fastify({
    keepAliveTimeout,
    http: { maxHeaderSize: maxHeaderBytes },
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // The targets of the interface are no business of fastify's router, which decodes and normalises them.
    rewriteUrl: () => '/',
    clientErrorHandler: (error, socket) => respondToUnparsed(socket, toUnparsedRequestError(error)),
  })

  server.addHook('onRequest', async (request, reply) => {
    const requestId = acceptRequestId(request.headers[requestIdHeader])
    const dialect = clientDialectOf(request.headers)
    const signal = createAbortSignal(reply.raw)
    let operation: Operation | undefined
    reply.header(requestIdHeader, requestId).headers(dialect.responseHeaders)
    try {
      if (request.method === 'GET' && request.originalUrl === '/livez') {
        if (!parts.catalog.isAlive()) {
          throw new CatalogError('ServiceUnavailable', 'the engine is stalled; restart the catalog')
        }
        return reply.send({ status: 'ok' })
      }
      if (request.method === 'GET' && request.originalUrl === '/readyz') {
        await parts.catalog.checkReady()
        return reply.send({ status: 'ok' })
      }
      if (request.method === 'GET' && request.originalUrl === openApiPath) {
        return reply.header('content-type', 'application/json').send(document)
      }
      checkAccess(request.headers.authorization)
      const target = parseTarget(request.method, request.originalUrl)
      operation = target.operation
      log.debug({ requestId, operation: operation.name, id: target.id }, 'request received')
      const result = await executeOperation(parts, request, target, dialect, { requestId, signal })
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

/** Aborted when the client leaves before its answer is complete. */
function createAbortSignal(response: ServerResponse): AbortSignal {
  const departure = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) departure.abort()
  })
  return departure.signal
}

/** What is left of a refused body is taken from the client, or it would never read its answer. */
function drain(request: IncomingMessage): void {
  if (request.complete) return
  const timer = setTimeout(() => request.destroy(), drainTimeoutMs).unref()
  request.once('close', () => clearTimeout(timer))
  // Unlike `resume`, a listener also takes effect once a reader that is still waiting for a piece lets go.
  request.on('data', () => {})
}
