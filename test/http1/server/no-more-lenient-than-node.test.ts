import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { isThorough } from '../../support/thorough.ts'
import { oddRequests } from './odd-requests.ts'
import {
  acceptedOn,
  recordRequest,
  recordHandles,
  sendTo,
  startRecordingListener,
  type AcceptedRequest,
  type RecordingServer,
} from './recording-server.ts'
import { writtenRequest } from './written-requests.ts'

// The parser of node (llhttp) is old, well known, and strict by default. The gateway must read every request that it
// accepts as llhttp does: then no server that parses like node sees a different request.

/** Requests that the gateway accepts and node does not. */
interface Difference {
  readonly error: RegExp
  matches(ours: AcceptedRequest): boolean
}

const differences: readonly Difference[] = [
  // A CONNECT request is refused whatever its target is, and its connection is closed.
  { error: /^HPE_INVALID_URL/, matches: ({ method }) => method === 'CONNECT' },
]

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
  const recorder: RecordingServer = { port, handles: new Map(), acceptedByPort: new Map() }
  recordHandles(server, recorder)
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

it('accepts valid requests as node does', async () => {
  const [ours, nodes] = await Promise.all([startRecordingListener(), startNode()])
  const property = fc.asyncProperty(
    fc.array(writtenRequest, { minLength: 1, maxLength: 3 }),
    async (sent) => {
      const bytes = Buffer.from(sent.map((request) => request.bytes).join(''), 'latin1')
      const [byUs, byNode] = await Promise.all([sendTo(ours, bytes), sendTo(nodes, bytes)])
      expect(byUs.requests).toEqual(byNode.requests)
      expect(byUs.requests).toHaveLength(sent.length)
    },
  )
  await fc.assert(property, { numRuns: isThorough ? 1_000 : 30 })
})

it('accepts no request that node rejects or reads differently', async () => {
  const [ours, nodes] = await Promise.all([startRecordingListener(), startNode()])
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
  const numRuns = isThorough ? 6_000 : 200
  await fc.assert(property, { numRuns })
  // Some requests must remain valid, or the test would prove nothing.
  expect(pipelinedRuns).toBeGreaterThan(numRuns / 100)
})

function isKnownDifference(ours: AcceptedRequest, error = ''): boolean {
  return differences.some((difference) => difference.error.test(error) && difference.matches(ours))
}
