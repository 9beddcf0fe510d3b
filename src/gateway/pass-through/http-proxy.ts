import { AsyncLocalStorage } from 'node:async_hooks'
import httpProxy from '@fastify/http-proxy'
import fastify from 'fastify'
import { Dispatcher, type Pool } from 'undici'
import { refusal } from '../../catalog-api/catalog-error.ts'
import type { NodeResponse } from '../../node-http/node-response.ts'
import type { RawRequestPair } from '../../node-http/interceptor.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import type { DownstreamBody } from '../downstream.ts'
import { gatewayHeaders, type ResponseContext } from '../gateway-headers.ts'
import type { AdmittedRequest } from './admit-request.ts'
import { createForwardedHeaders, createResponseHeaders } from './forwarded-headers.ts'
import type { PassThroughRoute } from './pass-through-route.ts'
import { sendBody } from './send-body.ts'
import { toDownstreamError } from './upstream-failure.ts'

/** An admitted request on its way to the upstream of its route. */
interface ProxiedRequest extends AdmittedRequest {
  readonly route: PassThroughRoute
  readonly body: DownstreamBody
  readonly response: NodeResponse
  readonly context: ResponseContext
}

type ReceivedResponse = Pick<Dispatcher.ResponseData<unknown>, 'statusCode' | 'headers' | 'body'>

interface ProxyAttempt extends ProxiedRequest {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** The response of the upstream, when its head has arrived. */
  received: ReceivedResponse | undefined
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Forwards admitted requests by @fastify/http-proxy, in an application of Fastify that never listens. */
export interface HttpProxy {
  /** Resolves when the response is written. Rejects with the error for the client, or with ClientDisconnected. */
  forward(request: ProxiedRequest, raw: RawRequestPair): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the proxy of these routes. The plugin joins targets and upstreams, and sends the requests. Heads and bodies are
 * those that the gateway has read and will write: over HTTP/2, the plugin would take a cut body for a whole one.
 */
export async function openHttpProxy(routes: readonly PassThroughRoute[]): Promise<HttpProxy> {
  const attempts = new AsyncLocalStorage<ProxyAttempt>()
  const fail = (reply: { hijack(): unknown }, error: unknown): void => {
    reply.hijack()
    attempts.getStore()?.reject(error)
  }
  const app = fastify({ exposeHeadRoutes: false })
  app.setErrorHandler((error, _request, reply) => fail(reply, error))
  app.setNotFoundHandler((_request, reply) => fail(reply, refusal('unknown_route', 'unknown route')))
  for (const { settings, paths, origin, pool } of routes) {
    await app.register(httpProxy, {
      prefix: paths.prefix,
      upstream: origin + paths.upstreamPath,
      httpMethods: settings.methods,
      internalRewriteLocationHeader: false,
      disableRequestLogging: true,
      undici: new AttemptDispatcher(pool, attempts),
      replyOptions: {
        // By default, GET is repeated ten times after a 503.
        retryDelay: () => null,
        onError: (reply, { error }) => fail(reply, error),
        onResponse(_request, reply) {
          const attempt = attempts.getStore()
          // The plugin goes on after an error.
          if (reply.sent || attempt?.received === undefined) return
          reply.hijack()
          sendResponse(attempt, attempt.received).then(attempt.resolve, attempt.reject)
        },
      },
    })
  }
  await app.ready()
  // Its type allows requests of one protocol only.
  const routing = app.routing.bind(app)
  return {
    async forward(request, raw) {
      const { response, head } = request
      const client = new AbortController()
      response.onClose.add(() => client.abort(new ClientDisconnected('the client closed the connection')))
      const { signal } = client
      raw.request.url = head.target
      try {
        await new Promise<void>((resolve, reject) => {
          const attempt: ProxyAttempt = { ...request, signal, received: undefined, resolve, reject }
          attempts.run(attempt, () => Reflect.apply(routing, undefined, [raw.request, raw.response]))
        })
      } catch (error) {
        if (response.isDestroyed) throw new ClientDisconnected('the client closed the connection')
        throw toDownstreamError(error)
      }
    },
    async close() {
      await Promise.all(routes.map(({ pool }) => pool.destroy()))
      await app.close()
    },
  }
}

async function sendResponse(
  { response, route: { paths, origin }, upstreamPath, context }: ProxyAttempt,
  { statusCode, headers, body }: ReceivedResponse,
): Promise<void> {
  try {
    const sent = createResponseHeaders(headers, paths, new URL(upstreamPath, origin))
    try {
      response.writeHead(statusCode, [...sent, ...gatewayHeaders(context)])
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

/** Sends each request with the head and the body that the gateway has read, and aborts it when its client leaves. */
class AttemptDispatcher extends Dispatcher {
  readonly #pool: Pool
  readonly #attempts: AsyncLocalStorage<ProxyAttempt>

  constructor(pool: Pool, attempts: AsyncLocalStorage<ProxyAttempt>) {
    super()
    this.#pool = pool
    this.#attempts = attempts
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.#pool.dispatch(options, handler)
  }

  override request<Opaque = null>(
    options: Dispatcher.RequestOptions<Opaque>,
  ): Promise<Dispatcher.ResponseData<Opaque>>
  override request<Opaque = null>(
    options: Dispatcher.RequestOptions<Opaque>,
    callback: (error: Error | null, data: Dispatcher.ResponseData<Opaque>) => void,
  ): void
  override request<Opaque = null>(
    options: Dispatcher.RequestOptions<Opaque>,
    callback?: (error: Error | null, data: Dispatcher.ResponseData<Opaque>) => void,
  ): Promise<Dispatcher.ResponseData<Opaque>> | void {
    const attempt = this.#attempts.getStore()
    if (attempt === undefined || callback === undefined) throw new Error('no request to forward')
    const { head, body, route, signal } = attempt
    this.#pool.request(
      {
        ...options,
        headers: createForwardedHeaders(head, route.settings),
        body: head.hasBody ? body.stream : null,
        signal,
      },
      (error, data) => {
        if (error === null) attempt.received = data
        callback(error, data)
      },
    )
  }
}
