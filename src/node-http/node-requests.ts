import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { ConnectionAddresses } from '../lib/net/connection-addresses.ts'
import type { ErrorResponse } from '../http1/server/error-response.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import { LingerSlots } from '../http1/server/lingering-close.ts'
import { RequestError, type RequestErrorReason } from '../http1/server/request-error.ts'
import type { RequestHead } from '../http1/server/request-head.ts'
import type { RequestScheduler } from '../http1/server/request-queue.ts'
import { Http1Response, type Http1ResponseOptions } from './http1-response.ts'
import { Http2Response } from './http2-response.ts'
import type { NodeResponse } from './node-response.ts'
import { readHttp1Head, readHttp2Head } from './request-head.ts'
import { RequestSource } from './request-source.ts'
import { StreamAborted } from './stream-aborted.ts'

/** Receives requests, and errors of bytes that are not a request. */
export interface NodeRequestHandler {
  readonly scheduler: RequestScheduler
  /** Of a head over HTTP/2; that of HTTP/1.1 is limited by its server. */
  readonly maxHeadBytes: number
  /** In milliseconds: how long a client may read nothing of a response. */
  readonly sendTimeoutMs: number
  readonly onRequest: (request: IncomingRequest, response: NodeResponse) => void
  /** A connection or a request was refused; `cause` is for logs. */
  onConnectionError(
    reason: RequestErrorReason | 'http2_error' | 'send_timeout',
    addresses: ConnectionAddresses,
    cause?: string,
  ): void
  /** The connection is closed without a response if undefined. */
  errorResponse(error: RequestError): ErrorResponse | undefined
}

/**
 * Takes requests of servers of node: converts each, and passes it to `onRequest`, by default that of the handler, in
 * batches of the scheduler.
 */
export interface NodeRequests {
  takeHttp1(
    request: IncomingMessage,
    response: ServerResponse,
    addresses: ConnectionAddresses,
    onRequest?: NodeRequestHandler['onRequest'],
  ): void
  /** Aborts a request whose body cannot be parsed. Its response, if it has begun, may go on. */
  abortBody(request: IncomingMessage): void
  takeHttp2(
    stream: ServerHttp2Stream,
    rawHeaders: readonly string[],
    addresses: ConnectionAddresses,
    onRequest?: NodeRequestHandler['onRequest'],
  ): void
}

type ConnectionOptions = Pick<Http1ResponseOptions, 'isLast' | 'keepAliveSeconds' | 'onLastResponse'>

const defaultOptions: ConnectionOptions = {
  isLast: () => false,
  keepAliveSeconds: undefined,
  onLastResponse: () => undefined,
}

export function createNodeRequests(
  handler: NodeRequestHandler,
  connectionOptions = defaultOptions,
): NodeRequests {
  const options: Http1ResponseOptions = { ...connectionOptions, lingerSlots: new LingerSlots() }
  const taken = new WeakMap<IncomingMessage, IncomingRequest>()

  function start(
    request: IncomingRequest,
    response: NodeResponse,
    onRequest: NodeRequestHandler['onRequest'] = handler.onRequest,
  ): void {
    handler.scheduler.schedule(() => {
      if (!response.isDestroyed) onRequest(request, response)
    })
  }

  /** Returns undefined for a request that is refused. */
  function readHead(
    read: () => RequestHead,
    addresses: ConnectionAddresses,
  ): RequestHead | ErrorResponse | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      handler.onConnectionError(error.reason, addresses, error.message)
      return handler.errorResponse(error)
    }
  }

  /** The client reads nothing of its response. */
  function onSendTimeout(response: NodeResponse): void {
    handler.onConnectionError('send_timeout', response.request.addresses)
    response.destroy()
  }

  return {
    takeHttp1(raw, rawResponse, addresses, onRequest) {
      const { socket } = raw
      const head = readHead(() => readHttp1Head(raw), addresses)
      if (head === undefined || 'status' in head) {
        refuseHttp1(rawResponse, head)
        return
      }
      const { request } = new RequestSource(head, {
        stream: raw,
        socket,
        addresses,
        hasArrived: () => raw.complete,
        isWhole: () => raw.complete,
        destroy: () => socket.destroy(),
      })
      taken.set(raw, request)
      const response = new Http1Response(request, rawResponse, options)
      rawResponse.setTimeout(handler.sendTimeoutMs, () => {
        if (socket.writableLength > 0) onSendTimeout(response)
      })
      // Node emits a request before it has parsed the body that arrived with it.
      if (request.isComplete) start(request, response, onRequest)
      else setImmediate(() => start(request, response, onRequest))
    },
    abortBody: (raw) => taken.get(raw)?.abort(),
    takeHttp2(stream, rawHeaders, addresses, onRequest) {
      const socket = stream.session?.socket
      if (socket === undefined) return
      const head = readHead(() => readHttp2Head(stream, rawHeaders, handler.maxHeadBytes), addresses)
      if (head === undefined || 'status' in head) {
        refuseHttp2(stream, head)
        return
      }
      const { request } = new RequestSource(head, {
        stream,
        socket,
        addresses,
        hasArrived: () => false,
        // A stream that was reset ends, too.
        isWhole: () => !stream.closed,
        destroy: () => stream.destroy(new StreamAborted('the request is aborted')),
      })
      const response = new Http2Response(request, stream)
      stream.setTimeout(handler.sendTimeoutMs)
      // As a callback of `setTimeout`, it would be called only once: perhaps while the upstream is slow.
      stream.on('timeout', () => {
        if (stream.writableLength > 0) onSendTimeout(response)
      })
      start(request, response, onRequest)
    },
  }
}

function refuseHttp1(response: ServerResponse, error: ErrorResponse | undefined): void {
  if (error === undefined) {
    response.destroy()
    return
  }
  const length = String(Buffer.byteLength(error.body))
  response.writeHead(error.status, [...error.headers, 'content-length', length, 'connection', 'close'])
  response.end(error.body)
}

function refuseHttp2(stream: ServerHttp2Stream, error: ErrorResponse | undefined): void {
  if (error === undefined) {
    stream.destroy(new StreamAborted('the request is refused'))
    return
  }
  const fields: Record<string, string | number> = { ':status': error.status }
  error.headers.forEach((text, index, all) => {
    if (index % 2 === 1) fields[all[index - 1] ?? ''] = text
  })
  stream.respond(fields)
  stream.end(error.body)
}
