import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import {
  closeWithError,
  type ConnectionHandler,
  createParsedRequestHead,
  IncomingRequest,
  malformed,
  type RequestConnection,
  RequestError,
  type RequestHead,
} from '../http1/index.ts'
import { ownedBy, readPeerAddress } from '../lib/index.ts'
import { NodeResponse } from './node-response.ts'

/** Options and callbacks of the requests of a server. */
export interface NodeRequestHandler extends Pick<
  ConnectionHandler,
  'scheduler' | 'onConnectionError' | 'errorResponse'
> {
  /** In milliseconds: how long a client may read nothing of a response. */
  readonly sendTimeoutMs: number
  /** Whether every response is the last one of its connection. */
  readonly isDraining: () => boolean
}

/**
 * Creates the listener for requests of a server of node:http, as the pipeline reads them: those of a connection one after
 * the other.
 */
export function createRequestTaker(handler: NodeRequestHandler) {
  const { scheduler, sendTimeoutMs, isDraining, onConnectionError, errorResponse } = handler
  const pipelines = new WeakMap<Socket, ReturnType<typeof createPipeline>>()

  /** Returns undefined for a request that is refused. */
  function readHead(raw: IncomingMessage, peer: string): RequestHead | undefined {
    try {
      return readNodeHead(raw)
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      onConnectionError(error.reason, peer, error.message)
      const response = errorResponse(error)
      if (response === undefined) raw.socket.destroy()
      else closeWithError(raw.socket, response)
      return undefined
    }
  }

  /** Calls `onRequest` when the scheduler starts the request, unless it is refused, or its client has left. */
  return (
    raw: IncomingMessage,
    rawResponse: ServerResponse,
    onRequest: (request: IncomingRequest, response: NodeResponse) => void,
  ): void => {
    const { socket } = raw
    let pipeline = pipelines.get(socket)
    if (pipeline === undefined) pipelines.set(socket, (pipeline = createPipeline(socket)))
    const peer = readPeerAddress(socket)
    const fail = (error: Error): void => {
      socket.destroy()
      onConnectionError('internal_error', peer, error.stack)
    }
    const start = (): void => {
      const head = readHead(raw, peer)
      if (head === undefined) return
      const request = createRequest(raw, head, peer, fail)
      const response = new NodeResponse(request, rawResponse, isDraining)
      limitSending(rawResponse, request, sendTimeoutMs, onConnectionError, () => response.destroy())
      const serve = ownedBy(request, () => {
        if (!response.isDestroyed) onRequest(request, response)
      })
      // Node emits a request before it has parsed the body that arrived with it.
      if (request.isComplete) scheduler.schedule(serve)
      else setImmediate(() => scheduler.schedule(serve))
    }
    void pipeline(rawResponse, ownedBy({ fail }, start))
  }
}

/** Throws RequestError for a head that the parser of http1/ would refuse. */
export function readNodeHead({
  method = '',
  url = '',
  httpVersion,
  rawHeaders,
}: IncomingMessage): RequestHead {
  // Node reads a request line without a version as HTTP/0.9.
  if (httpVersion === '0.9') throw malformed('the head does not start with a request line')
  const headers = rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text))
  return createParsedRequestHead({ method, target: url, version: httpVersion }, headers)
}

/** Creates a request that another reader reads the body of, if it has one: `fail` is called with an error of a task. */
export function requestWithoutBody(
  head: RequestHead,
  socket: Socket,
  peer: string,
  fail: RequestConnection['fail'],
): IncomingRequest {
  return new IncomingRequest(head, performance.now(), {
    socket,
    peer,
    applyFlowControl: () => undefined,
    destroy: () => socket.destroy(),
    fail,
  })
}

/** Reports and aborts a response if the client reads nothing for that time. */
export function limitSending(
  response: ServerResponse,
  request: IncomingRequest,
  sendTimeoutMs: number,
  onConnectionError: (reason: 'send_timeout', peer: string) => void,
  abort: () => void,
): void {
  const onTimeout = (): void => {
    if (request.socket.writableLength === 0) return
    onConnectionError('send_timeout', request.peer)
    abort()
  }
  response.setTimeout(sendTimeoutMs, ownedBy(request, onTimeout))
}

/** Creates the request of a message, whose body is read while the pipeline consumes it. */
function createRequest(
  message: IncomingMessage,
  head: RequestHead,
  peer: string,
  fail: RequestConnection['fail'],
): IncomingRequest {
  const { socket } = message
  let isReading = false
  const connection: RequestConnection = {
    socket,
    peer,
    fail,
    destroy: () => socket.destroy(),
    applyFlowControl() {
      if (!request.wantsBody) {
        message.pause()
        return
      }
      if (isReading) message.resume()
      else message.on('data', ownedBy(connection, receive))
      isReading = true
      // A body that has arrived is read at once, so that it can be discarded without closing the connection.
      let chunk: unknown
      do chunk = message.read()
      while (chunk !== null && request.wantsBody)
      if (request.wantsBody && message.readableLength === 0 && message.complete) request.complete()
    },
  }
  const request = new IncomingRequest(head, performance.now(), connection)
  function receive(chunk: Buffer): void {
    request.receive(chunk)
    if (!request.wantsBody) message.pause()
  }
  const complete = ownedBy(connection, () => request.complete())
  const abort = ownedBy(connection, () => request.abort())
  message
    // An empty body ends even if it is not read.
    .on('end', () => (message.complete ? complete() : abort()))
    // `close` follows.
    .on('error', () => undefined)
    .on('aborted', abort)
    .on('close', abort)
  // A message that is not read does not end.
  if (request.isComplete) message.resume()
  return request
}

/**
 * Creates the queue that serves the requests of a connection one after the other. Node passes pipelined ones at once, and
 * would serve one behind a response that closes the connection.
 */
function createPipeline(socket: Socket) {
  let last: Promise<unknown> = Promise.resolve()
  let unfinished = 0
  /** Calls `start` when all previous responses are complete. It is not called if the last one closes the connection. */
  return async (response: ServerResponse, start: () => void): Promise<void> => {
    const before = last
    last = new Promise((resolve) => response.once('close', resolve))
    unfinished += 1
    // No further requests are read; those that were received are parsed already.
    if (unfinished > 1) socket.pause()
    await before
    // Node may still parse bytes that were received with the last request.
    if (socket.destroyed || socket.writableEnded) return
    response.once('close', () => {
      unfinished -= 1
      if (unfinished <= 1 && socket.isPaused()) socket.resume()
    })
    start()
  }
}
