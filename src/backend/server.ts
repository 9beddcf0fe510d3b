import type { IncomingMessage } from 'node:http'
import fastify, { type FastifyInstance } from 'fastify'
import { destination, pino, type Logger } from 'pino'
import { requestIdHeader, requestIdOf } from '../interface/headers.ts'
import { openApiPath, openApiText } from '../interface/openapi.ts'
import type { Operation } from '../interface/operations.ts'
import { parseTarget } from '../interface/target.ts'
import { answerUnparsed, refuseUnparsed } from '../interface/unparsed-requests.ts'
import { accessCheck } from './access-token.ts'
import { answer, answerable, refuse } from './answers.ts'
import { openCatalog } from './catalog/open-catalog.ts'
import type { BackendSettings } from './configuration.ts'
import { dialectOf } from './dialects/lancedb.ts'
import { openEngine } from './engine/lancedb-engine.ts'
import { openManifestStore } from './engine/manifest-store.ts'
import { operate, type OperationParts } from './operate.ts'
import { UploadMemory } from './request-body.ts'

/** A reference catalog that answers requests. */
export interface Backend {
  /** `http://HOST:PORT` */
  readonly url: string
  /** Takes no more connections, lets the requests under way end within bounds, and lets go of the data folder. */
  readonly close: () => Promise<void>
}

/** A route of 4096 bytes of id, percent-encoded, and a token must fit. */
const maximumHeaderBytes = 32 * 1024
/** Longer than clients keep idle connections, so that they close first. */
const keepAliveTimeout = 75_000
const sweepMs = 50
/** How long a client may go on sending what nobody wants. */
const drainMs = 10_000
/** How long requests under way may take to end when the catalog is closed. */
const closingMs = 20_000

/**
 * Starts the reference catalog: opens its data folder, repairs what an end without notice left there, and listens.
 * Rejects when the folder cannot be used or the address is taken.
 */
export async function startBackend(settings: BackendSettings): Promise<Backend> {
  const log = pino({ level: settings.log.level, base: null }, destination(2))
  const engine = openEngine({ decodedUploadBytes: 8 * settings.limits.uploadBytes })
  const catalog = await openCatalog(settings, engine, openManifestStore(), log)
  const { limits, accessToken } = settings
  const server = createServer(
    { catalog, limits, uploads: new UploadMemory(limits.uploadsBytes) },
    accessToken,
    log,
  )
  const close = async (): Promise<void> => {
    // A connection whose answer ends only now would be kept alive, and waited for.
    const sweep = setInterval(() => server.server.closeIdleConnections(), sweepMs)
    const deadline = setTimeout(() => server.server.closeAllConnections(), closingMs)
    await server.close()
    clearInterval(sweep)
    clearTimeout(deadline)
    await engine.close()
    await catalog.close()
  }
  try {
    return { url: await server.listen(settings.listen), close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * The routes are those of the interface, and its own parser reads them from the raw request target. A request is
 * answered before fastify would look at its body, of which only the operation knows the form.
 */
function createServer(parts: OperationParts, accessToken: string | undefined, log: Logger): FastifyInstance {
  const document = openApiText()
  const checkAccess = accessCheck(accessToken)
  const server = fastify({
    keepAliveTimeout,
    http: { maxHeaderSize: maximumHeaderBytes },
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // The targets of the interface are no business of fastify's router, which decodes and normalises them.
    rewriteUrl: () => '/',
    clientErrorHandler: (error, socket) => answerUnparsed(socket, refuseUnparsed(error)),
  })

  server.addHook('onRequest', async (request, reply) => {
    const requestId = requestIdOf(request.headers[requestIdHeader])
    const dialect = dialectOf(request.headers)
    let operation: Operation | undefined
    reply.header(requestIdHeader, requestId).headers(dialect.headers)
    try {
      if (request.method === 'GET' && request.originalUrl === '/livez') return reply.send({ status: 'ok' })
      if (request.method === 'GET' && request.originalUrl === openApiPath) {
        return reply.header('content-type', 'application/json').send(document)
      }
      checkAccess(request.headers.authorization)
      const target = parseTarget(request.method, request.originalUrl)
      operation = target.operation
      const result = await operate(parts, request, target, dialect)
      return answer(reply, operation, result, (error) => {
        log.error({ err: error, requestId }, 'an answer broke off in the middle')
      })
    } catch (error) {
      const refusal = answerable(error)
      if (refusal.status >= 500) log.error({ err: refusal.cause, requestId }, refusal.message)
      drain(request.raw)
      return refuse(reply, dialect.writeError(operation?.name, refusal), requestId)
    }
  })
  return server
}

/** What is left of a refused body is taken from the client, or it would never read its answer. */
function drain(request: IncomingMessage): void {
  if (request.complete) return
  const timer = setTimeout(() => request.destroy(), drainMs).unref()
  request.once('close', () => clearTimeout(timer))
  request.resume()
}
