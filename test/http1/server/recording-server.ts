import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { IncomingRequest } from '../../../src/http1/server/incoming-request.ts'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import { RequestQueue } from '../../../src/http1/server/request-queue.ts'
import { NodeRequests } from '../../../src/node-http/node-requests.ts'
import { respondText, runServer } from './running-server.ts'

export interface AcceptedRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  body: string
  isComplete: boolean
}

export interface Accepted {
  readonly requests: AcceptedRequest[]
  /** Why the connection was closed. */
  error?: string | undefined
}

/** What node reads a connection through: a server may read it with another socket than the accepted one. */
interface Handle {
  /** 0 after it was closed. */
  readonly bytesRead: number
}

/** A server, and the requests that it accepted on the connection from each port. */
export interface RecordingServer {
  readonly port: number
  readonly handles: Map<number, Handle>
  readonly acceptedByPort: Map<number, Accepted>
  /** Returns the last error since the previous call, unless errors are recorded by port. */
  readonly takeError?: () => string | undefined
}

type Response = Pick<OutgoingResponse, 'keepAlive' | 'writeHead' | 'end' | 'destroy'>

/** A server may stop to read after an error, and leave the connection open for a moment. */
const readTimeoutMs = 2_000

/** Event loop turns in which a server handles a few pipelined requests that it has read. */
const settlingTurns = 16

export function acceptedOn({ acceptedByPort }: RecordingServer, socket: Socket): Accepted {
  const port = socket.remotePort ?? 0
  let accepted = acceptedByPort.get(port)
  if (accepted === undefined) acceptedByPort.set(port, (accepted = { requests: [] }))
  return accepted
}

export function recordRequest(
  recorder: RecordingServer,
  socket: Socket,
  request: Omit<AcceptedRequest, 'body' | 'isComplete'>,
): AcceptedRequest {
  const one: AcceptedRequest = { ...request, body: '', isComplete: false }
  acceptedOn(recorder, socket).requests.push(one)
  return one
}

export function recordHandles(server: Server, recorder: RecordingServer): void {
  server.prependListener('connection', (socket: Socket & { readonly _handle: Handle }) =>
    recorder.handles.set(socket.remotePort ?? 0, socket._handle),
  )
}

/** Runs the listener; every request gets a response. */
export async function startRecordingListener(): Promise<RecordingServer> {
  const running = await runServer((request, response) => serveRecorded(recorder, request, response))
  const recorder: RecordingServer = {
    port: Number(new URL(running.url).port),
    handles: new Map(),
    acceptedByPort: new Map(),
    takeError: () => running.causes.splice(0).at(-1),
  }
  recordHandles(running.server.server, recorder)
  return recorder
}

/** Runs a server of node:http whose requests are taken as those of an application. */
export async function startNodeRequests(): Promise<RecordingServer> {
  let error: string | undefined
  const requests = new NodeRequests({
    scheduler: new RequestQueue(),
    sendTimeoutMs: 60_000,
    isDraining: () => false,
    onConnectionError: (_reason, _addresses, cause) => (error = cause),
    errorResponse: () => undefined,
  })
  const serve = (raw: IncomingMessage, rawResponse: ServerResponse): void =>
    requests.take(raw, rawResponse, (request, response) => serveRecorded(recorder, request, response))
  const server = createServer({ requireHostHeader: false }, serve)
    .on('checkContinue', serve)
    .on('checkExpectation', serve)
    // The requests before are still served.
    .on('clientError', () => undefined)
    .on('connect', (_request, socket) => void socket.on('error', () => undefined))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  const recorder: RecordingServer = {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    handles: new Map(),
    acceptedByPort: new Map(),
    takeError() {
      const taken = error
      error = undefined
      return taken
    },
  }
  recordHandles(server, recorder)
  return recorder
}

function serveRecorded(recorder: RecordingServer, request: IncomingRequest, response: Response): void {
  const { method, target, headers, body } = request.head
  // Its end is unknown: the handler refuses it, and the connection cannot be reused.
  if (body === 'unknown') {
    if (response.keepAlive) throw new Error('a connection is reused after a body of unknown length')
    return respondText(response, '')
  }
  const one = recordRequest(recorder, request.socket, { method, target, headers })
  if (method === 'CONNECT') {
    one.isComplete = true
    return response.destroy()
  }
  request.consume({
    onRequestData: (bytes) => (one.body += bytes.toString('latin1')),
    onRequestEnd() {
      one.isComplete = true
      respondText(response, '')
    },
    onRequestError: () => undefined,
  })
}

/** The complete requests that a server accepted, once it has read the bytes or closed the connection. */
export async function sendTo(recorder: RecordingServer, bytes: Buffer): Promise<Accepted> {
  recorder.takeError?.()
  const client = connect(recorder.port, '127.0.0.1')
  client.on('error', () => undefined).resume()
  await once(client, 'connect')
  const port = client.localPort ?? 0
  client.write(bytes)
  const isRead = () => (recorder.handles.get(port)?.bytesRead ?? 0) >= bytes.length
  const deadline = Date.now() + readTimeoutMs
  while (!isRead() && !client.readableEnded && !client.destroyed && Date.now() < deadline)
    await new Promise(setImmediate)
  for (let turn = 0; turn < settlingTurns; turn += 1) await new Promise(setImmediate)
  client.resetAndDestroy()
  const { requests, error } = recorder.acceptedByPort.get(port) ?? { requests: [] }
  recorder.acceptedByPort.delete(port)
  recorder.handles.delete(port)
  const end = requests.findIndex(({ isComplete }) => !isComplete)
  return { requests: end === -1 ? requests : requests.slice(0, end), error: error ?? recorder.takeError?.() }
}
