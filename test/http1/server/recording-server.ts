import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Server, type Socket } from 'node:net'
import type { IncomingRequest } from '../../../src/http1/server/incoming-request.ts'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import { RequestQueue } from '../../../src/http1/server/request-queue.ts'
import { createRequestTaker } from '../../../src/node-http/node-requests.ts'
import { listenLocally } from '../../support/local-server.ts'
import { respondText, runServer } from './running-server.ts'

interface AcceptedRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  body: string
  isComplete: boolean
}

export interface Accepted {
  readonly requests: readonly AcceptedRequest[]
  /** Why the connection was closed. */
  readonly error: string | undefined
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
  readonly acceptedByPort: Map<number, readonly AcceptedRequest[]>
  /** Returns the last error since the previous call. */
  readonly takeError: () => string | undefined
}

type Response = Pick<OutgoingResponse, 'keepAlive' | 'writeHead' | 'end' | 'destroy'>

/** A server may stop to read after an error, and leave the connection open for a moment. */
const readTimeoutMs = 2_000

/** Event loop turns in which a server handles a few pipelined requests that it has read. */
const loopIterations = 16

function createRecorder(
  server: Server,
  port: number,
  takeError: RecordingServer['takeError'],
): RecordingServer {
  const recorder: RecordingServer = { port, handles: new Map(), acceptedByPort: new Map(), takeError }
  server.prependListener('connection', (socket: Socket & { readonly _handle: Handle }) =>
    recorder.handles.set(socket.remotePort ?? 0, socket._handle),
  )
  return recorder
}

/** Runs the listener; every request gets a response. */
export async function startRecordingListener(): Promise<RecordingServer> {
  const running = await runServer((request, response) => serveRecorded(recorder, request, response))
  const port = Number(new URL(running.url).port)
  const recorder = createRecorder(running.server.server, port, () => running.causes.splice(0).at(-1))
  return recorder
}

/** Runs a server of node:http whose requests are taken as those of an application. */
export async function startNodeRequests(): Promise<RecordingServer> {
  const errors: (string | undefined)[] = []
  const take = createRequestTaker({
    scheduler: new RequestQueue(),
    sendTimeoutMs: 60_000,
    isDraining: () => false,
    onConnectionError: (_reason, _addresses, cause) => void errors.push(cause),
    errorResponse: () => undefined,
  })
  const serve = (raw: IncomingMessage, rawResponse: ServerResponse): void =>
    take(raw, rawResponse, (request, response) => serveRecorded(recorder, request, response))
  const server = createServer({ requireHostHeader: false }, serve)
    .on('checkContinue', serve)
    .on('checkExpectation', serve)
    // The requests before are still served.
    .on('clientError', () => undefined)
    .on('connect', (_request, socket) => void socket.on('error', () => undefined))
  const recorder = createRecorder(server, await listenLocally(server), () => errors.splice(0).at(-1))
  return recorder
}

function serveRecorded(recorder: RecordingServer, request: IncomingRequest, response: Response): void {
  const { method, target, headers, body } = request.head
  // Its end is unknown: the handler refuses it, and the connection cannot be reused.
  if (body === 'unknown') {
    if (response.keepAlive) throw new Error('a connection is reused after a body of unknown length')
    return respondText(response, '')
  }
  const port = request.socket.remotePort ?? 0
  const one = { method, target, headers, body: '', isComplete: false }
  recorder.acceptedByPort.set(port, [...(recorder.acceptedByPort.get(port) ?? []), one])
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
  recorder.takeError()
  const client = connect(recorder.port, '127.0.0.1')
  client.on('error', () => undefined).resume()
  await once(client, 'connect')
  const port = client.localPort ?? 0
  client.write(bytes)
  const isRead = () => (recorder.handles.get(port)?.bytesRead ?? 0) >= bytes.length
  const deadline = Date.now() + readTimeoutMs
  while (!isRead() && !client.readableEnded && !client.destroyed && Date.now() < deadline)
    await new Promise(setImmediate)
  for (let count = 0; count < loopIterations; count += 1) await new Promise(setImmediate)
  client.resetAndDestroy()
  const requests = recorder.acceptedByPort.get(port) ?? []
  recorder.acceptedByPort.delete(port)
  recorder.handles.delete(port)
  const end = requests.findIndex(({ isComplete }) => !isComplete)
  return { requests: end === -1 ? requests : requests.slice(0, end), error: recorder.takeError() }
}
