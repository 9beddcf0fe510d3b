import { AsyncLocalStorage } from 'node:async_hooks'
import type { Readable } from 'node:stream'
import httpProxy from '@fastify/http-proxy'
import fastify from 'fastify'
import type { Dispatcher, Pool } from 'undici'
import { refusal } from '../../catalog-api/catalog-error.ts'
import type { NodeResponse } from '../../node-http/node-response.ts'
import type { RawRequestPair } from '../../node-http/interceptor.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import type { DownstreamBody } from '../downstream.ts'
import { gatewayHeaders, type ResponseContext } from '../gateway-headers.ts'
import type { AdmittedRequest } from './admit-request.ts'
import { createForwardedHeaders, createResponseHeaders, type HeadersByName } from './forwarded-headers.ts'
import type { PassThroughRoute } from './pass-through-route.ts'
import { sendBody } from './send-body.ts'
import { toPassThroughError } from './upstream-failure.ts'

/** An admitted request on its way to the upstream of its route. */
interface ProxiedRequest {
  readonly admitted: AdmittedRequest
  readonly body: DownstreamBody
  readonly response: NodeResponse
  readonly context: ResponseContext
}

interface ProxyAttempt extends ProxiedRequest {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** Headers of the response, once its head has arrived. */
  headers: HeadersByName
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Forwards admitted requests by @fastify/http-proxy. */
export interface HttpProxy {
  /** Resolves when the response is written. Rejects with the error for the client, or with ClientDisconnected. */
  forward(request: ProxiedRequest, raw: RawRequestPair): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the proxy of these routes: an application of Fastify, which gets its requests by `routing`. The plugin joins
 * targets and upstreams, and sends the requests. Heads and bodies are those that the gateway has read and will write: over
 * HTTP/2, the plugin would take a cut body for a whole one.
 */
export async function openHttpProxy(routes: readonly PassThroughRoute[]): Promise<HttpProxy> {
  const attempts = new AsyncLocalStorage<ProxyAttempt>()
  const getAttempt = (): ProxyAttempt => {
    const attempt = attempts.getStore()
    if (attempt === undefined) throw new Error('no request to forward')
    return attempt
  }
  const fail = (reply: { hijack(): unknown }, error: unknown): void => {
    reply.hijack()
    getAttempt().reject(error)
  }
  const app = fastify({ exposeHeadRoutes: false })
  app.setErrorHandler((error, _request, reply) => fail(reply, error))
  app.setNotFoundHandler((_request, reply) => fail(reply, refusal('unknown_route', 'unknown route')))
  // Fastify takes a body without type and length over HTTP/2 for none.
  app.addHook('preValidation', (request, _reply, done) => {
    const { admitted, body } = getAttempt()
    request.body = admitted.head.hasBody ? body.stream : undefined
    done()
  })
  for (const { settings, paths, origin, pool } of routes) {
    await app.register(httpProxy, {
      prefix: paths.prefix,
      upstream: origin + paths.upstreamPath,
      httpMethods: settings.methods,
      internalRewriteLocationHeader: false,
      disableRequestLogging: true,
      undici: createAbortableClient(pool, () => getAttempt().signal),
      replyOptions: {
        // By default, GET is repeated ten times after a 503.
        retryDelay: () => null,
        rewriteRequestHeaders: () => createForwardedHeaders(getAttempt().admitted.head, settings),
        rewriteHeaders(headers) {
          getAttempt().headers = headers
          return {}
        },
        onError: (reply, { error }) => fail(reply, error),
        onResponse(_request, reply, { statusCode, stream }) {
          // The plugin goes on after an error.
          if (reply.sent) return
          reply.hijack()
          const attempt = getAttempt()
          sendResponse(attempt, statusCode, stream).then(attempt.resolve, attempt.reject)
        },
      },
    })
  }
  await app.ready()
  // Its type allows requests of one protocol only.
  const routing = app.routing.bind(app)
  return {
    async forward(request, raw) {
      const { response, admitted } = request
      const client = new AbortController()
      raw.request.url = admitted.head.target
      try {
        await new Promise<void>((resolve, reject) => {
          response.onClose.add(() => {
            client.abort(new ClientDisconnected('the client closed the connection'))
            if (response.isDestroyed) reject(client.signal.reason)
          })
          const attempt: ProxyAttempt = {
            ...request,
            signal: client.signal,
            headers: {},
            resolve,
            reject,
          }
          attempts.run(attempt, () => Reflect.apply(routing, undefined, [raw.request, raw.response]))
        })
      } catch (error) {
        if (response.isDestroyed) throw new ClientDisconnected('the client closed the connection')
        throw toPassThroughError(error)
      }
    },
    async close() {
      await Promise.all(routes.map(({ pool }) => pool.destroy()))
      await app.close()
    },
  }
}

async function sendResponse(
  { admitted, response, context, headers }: ProxyAttempt,
  status: number,
  body: Readable,
): Promise<void> {
  const { passThroughRoute: route, upstreamPath } = admitted
  try {
    const sent = createResponseHeaders(headers, route, new URL(upstreamPath, route.origin))
    try {
      response.writeHead(status, [...sent, ...gatewayHeaders(context)])
    } catch (cause) {
      throw refusal('upstream_response_invalid', 'the upstream sent a malformed response', { cause })
    }
    if (headers['content-length'] === undefined) response.flushHead()
    await sendBody(body, response)
  } catch (error) {
    body.destroy()
    throw error
  }
}

/** Requests of a pool that are aborted by a signal, which the plugin has no option for. */
function createAbortableClient(pool: Pool, getSignal: () => AbortSignal): Pick<Dispatcher, 'request'> {
  function request<Opaque = null>(
    options: Dispatcher.RequestOptions<Opaque>,
  ): Promise<Dispatcher.ResponseData<Opaque>>
  function request<Opaque = null>(
    options: Dispatcher.RequestOptions<Opaque>,
    callback: (error: Error | null, data: Dispatcher.ResponseData<Opaque>) => void,
  ): void
  function request<Opaque = null>(
    options: Dispatcher.RequestOptions<Opaque>,
    callback?: (error: Error | null, data: Dispatcher.ResponseData<Opaque>) => void,
  ): Promise<Dispatcher.ResponseData<Opaque>> | void {
    const abortable = { ...options, signal: getSignal() }
    return callback === undefined ? pool.request(abortable) : pool.request(abortable, callback)
  }
  return { request }
}
