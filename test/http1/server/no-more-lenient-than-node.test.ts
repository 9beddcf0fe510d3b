import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Server, type Socket } from 'node:net'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import type { IncomingRequest } from '../../../src/http1/server/incoming-request.ts'
import { isThorough } from '../../support/thorough.ts'
import { respondText, runServer } from './running-server.ts'
import { oddRequests } from './odd-requests.ts'
import { writtenRequest } from './written-requests.ts'

// The parser of node (llhttp) is old, well known, and strict by default. The gateway must read every request that it
// accepts as llhttp does: then no server that parses like node sees a different request.

interface AcceptedRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  body: string
  isComplete: boolean
}

interface Accepted {
  readonly requests: AcceptedRequest[]
  error?: string | undefined
}

/** A server, and the requests that it accepted on the connection from each port. */
interface RecordingServer {
  readonly port: number
  readonly sockets: Map<number, Socket>
  readonly acceptedByPort: Map<number, Accepted>
}

/** Requests that the gateway accepts and node does not. */
interface Difference {
  readonly error: RegExp
  matches(ours: AcceptedRequest): boolean
}

const differences: readonly Difference[] = [
  // A CONNECT request is refused whatever its target is, and its connection is closed.
  { error: /^HPE_INVALID_URL/, matches: ({ method }) => method === 'CONNECT' },
]

function acceptedOn({ acceptedByPort }: RecordingServer, socket: Socket): Accepted {
  const port = socket.remotePort ?? 0
  let accepted = acceptedByPort.get(port)
  if (accepted === undefined) acceptedByPort.set(port, (accepted = { requests: [] }))
  return accepted
}

function recordRequest(
  recorder: RecordingServer,
  socket: Socket,
  request: Omit<AcceptedRequest, 'body' | 'isComplete'>,
): AcceptedRequest {
  const one: AcceptedRequest = { ...request, body: '', isComplete: false }
  acceptedOn(recorder, socket).requests.push(one)
  return one
}

function recordSockets(server: Server, recorder: RecordingServer): void {
  server.on('connection', (socket: Socket) => recorder.sockets.set(socket.remotePort ?? 0, socket))
}

async function startOurs(): Promise<RecordingServer> {
  const { server, url } = await runServer((request, response) => serve(request, response))
  const recorder: RecordingServer = {
    port: Number(new URL(url).port),
    sockets: new Map(),
    acceptedByPort: new Map(),
  }
  recordSockets(server.server, recorder)
  return recorder

  function serve(request: IncomingRequest, response: OutgoingResponse): void {
    const { method, target, headers, body } = request.head
    // Its end is unknown: the handler refuses it, and the connection cannot be reused.
    if (body === 'unknown') {
      expect(response.keepAlive).toBe(false)
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
}

async function startNode(): Promise<RecordingServer> {
  const server = createServer({ insecureHTTPParser: false, requireHostHeader: false }, serve)
  server.on('checkContinue', serve).on('checkExpectation', serve)
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const { method = '', url = '', rawHeaders } = request
    recordRequest(recorder, socket, {
      method,
      target: url,
      headers: lowerCaseNames(rawHeaders),
    }).isComplete = true
    socket.destroy()
  })
  // Requests before the error are still read.
  server.on('clientError', ({ code, message }: NodeJS.ErrnoException, socket) => {
    acceptedOn(recorder, socket as Socket).error = `${code} ${message}`
    setImmediate(() => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  const recorder: RecordingServer = { port, sockets: new Map(), acceptedByPort: new Map() }
  recordSockets(server, recorder)
  return recorder

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', rawHeaders } = request
    const one = recordRequest(recorder, request.socket, {
      method,
      target: url,
      headers: lowerCaseNames(rawHeaders),
    })
    request.setEncoding('latin1').on('error', () => undefined)
    request.on('data', (text: string) => (one.body += text))
    request.on('end', () => {
      one.isComplete = request.complete
      response.end()
    })
  }
}

function lowerCaseNames(rawHeaders: readonly string[]): string[] {
  return rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text))
}

/** The complete requests that a server accepted, once it has read the bytes or closed the connection. */
async function sendTo(recorder: RecordingServer, bytes: Buffer): Promise<Accepted> {
  const client = connect(recorder.port, '127.0.0.1')
  client.on('error', () => undefined).resume()
  await once(client, 'connect')
  const port = client.localPort ?? 0
  client.write(bytes)
  for (;;) {
    await new Promise(setImmediate)
    const socket = recorder.sockets.get(port)
    if (socket !== undefined && (socket.destroyed || socket.bytesRead >= bytes.length)) break
  }
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate)
  client.resetAndDestroy()
  const { requests, error } = recorder.acceptedByPort.get(port) ?? { requests: [] }
  recorder.acceptedByPort.delete(port)
  recorder.sockets.delete(port)
  const end = requests.findIndex(({ isComplete }) => !isComplete)
  return { requests: end === -1 ? requests : requests.slice(0, end), error }
}

it('accepts valid requests as node does', async () => {
  const [ours, nodes] = await Promise.all([startOurs(), startNode()])
  const property = fc.asyncProperty(
    fc.array(writtenRequest, { minLength: 1, maxLength: 3 }),
    async (sent) => {
      const bytes = Buffer.from(sent.map((request) => request.bytes).join(''), 'latin1')
      const [byUs, byNode] = await Promise.all([sendTo(ours, bytes), sendTo(nodes, bytes)])
      expect(byUs.requests).toEqual(byNode.requests)
      expect(byUs.requests).toHaveLength(sent.length)
    },
  )
  await fc.assert(property, { numRuns: isThorough ? 3_000 : 100 })
})

it('accepts no request that node rejects or reads differently', async () => {
  const [ours, nodes] = await Promise.all([startOurs(), startNode()])
  let pipelinedRuns = 0
  const property = fc.asyncProperty(oddRequests, async (text) => {
    const bytes = Buffer.from(text, 'latin1')
    const [byUs, byNode] = await Promise.all([sendTo(ours, bytes), sendTo(nodes, bytes)])
    if (byUs.requests.length > 1) pipelinedRuns += 1
    for (const [index, one] of byUs.requests.entries()) {
      const other = byNode.requests[index]
      if (other === undefined && isKnownDifference(one, byNode.error)) return
      expect(one, byNode.error).toEqual(other)
    }
  })
  const numRuns = isThorough ? 20_000 : 600
  await fc.assert(property, { numRuns })
  // Some requests must remain valid, or the test would prove nothing.
  expect(pipelinedRuns).toBeGreaterThan(numRuns / 100)
})

function isKnownDifference(ours: AcceptedRequest, error = ''): boolean {
  return differences.some((difference) => difference.error.test(error) && difference.matches(ours))
}
