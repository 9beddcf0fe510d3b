import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect, it, vi } from 'vitest'
import { CallbackList, ownedBy, scheduleAtTickEnd } from '../../src/lib/async/owned-tasks.ts'
import type { ResponseHandler } from '../../src/http1/client/request-controller.ts'
import type { IncomingRequest, RequestBodyHandler } from '../../src/http1/server/incoming-request.ts'
import { RequestBody } from '../../src/http1/server/request-body.ts'
import type { OutgoingResponse } from '../../src/http1/server/outgoing-response.ts'
import { RequestQueue } from '../../src/http1/server/request-queue.ts'
import { createRequestTaker } from '../../src/node-http/node-requests.ts'
import type { NodeResponse } from '../../src/node-http/node-response.ts'
import { eventually } from '../support/eventually.ts'
import { listenLocally } from '../support/local-server.ts'
import { openRawConnection } from '../gateway/support/raw-connection.ts'
import { dispatch, scripted, writesBytes } from './client/scripted-upstream.ts'
import { respondText, runServer } from './server/running-server.ts'

function fault(): never {
  throw new Error('a fault of the program')
}

it('a task that throws fails its owner, and those behind it run', async () => {
  const failed: string[] = []
  const owner = { fail: ({ message }: Error) => void failed.push(message) }
  const ran: string[] = []
  expect(ownedBy(owner, fault)()).toBeUndefined()
  scheduleAtTickEnd(owner, fault)
  scheduleAtTickEnd(owner, () => ran.push('tick'))
  const callbacks = new CallbackList(owner)
  callbacks.add(fault)
  callbacks.add(() => ran.push('callback'))
  callbacks.call()
  await new Promise(setImmediate)
  expect(ran).toEqual(['callback', 'tick'])
  expect(failed).toEqual(Array.from({ length: 3 }, () => 'a fault of the program'))
  expect(ownedBy({ fail: fault }, fault)()).toBeUndefined()
})

type Serve = (request: IncomingRequest, response: OutgoingResponse | NodeResponse) => void

const post = 'POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\n'
const whole = `${post}abc`

const body = { timeoutMs: 20, minBytesPerSecond: 1e9, error: fault }

function consumeBy(handler: Partial<RequestBodyHandler>) {
  return (request: IncomingRequest): void =>
    request.consume({ onRequestData() {}, onRequestEnd() {}, onRequestError() {}, ...handler })
}

/** Where a request can throw, by the event that its task is for. */
const serverFaults: [event: string, serve: Serve, sent: string][] = [
  ['the head', fault, whole],
  ['a chunk of the body', consumeBy({ onRequestData: fault }), whole],
  ['the end of the body', consumeBy({ onRequestEnd: fault }), whole],
  [
    'a body that is too slow',
    (request, response) => void new RequestBody(request, response, body).readAll(() => undefined),
    post,
  ],
  [
    'the end of its response',
    (_, response) => {
      response.onClose.add(fault)
      respondText(response, 'done')
    },
    whole,
  ],
  [
    'the end of its connection',
    (request) => {
      consumeBy({ onRequestError: fault })(request)
      request.socket.destroy()
    },
    post,
  ],
  [
    'more room for its response',
    (_, response) => {
      response.onDrain.add(fault)
      response.writeHead(200, [])
      response.write(Buffer.alloc(4 * 1024 * 1024))
    },
    whole,
  ],
]

interface FaultyServer {
  readonly url: string
  readonly reports: () => string
}

/** Starts a server whose requests are served by `serve`. */
const servers: [name: string, start: (serve: Serve) => Promise<FaultyServer>][] = [
  [
    'sockets',
    async (serve) => {
      const { url, errors, causes } = await runServer(serve)
      return { url, reports: () => [...errors, ...causes].join() }
    },
  ],
  ['node:http', startNodeServer],
]

async function startNodeServer(serve: Serve): Promise<FaultyServer> {
  const reports: string[] = []
  const take = createRequestTaker({
    scheduler: new RequestQueue(),
    sendTimeoutMs: 60_000,
    isDraining: () => false,
    onConnectionError: (reason, _addresses, cause) => void reports.push(`${reason} ${cause}`),
    errorResponse: () => undefined,
  })
  const server = createServer((raw: IncomingMessage, rawResponse: ServerResponse) =>
    take(raw, rawResponse, serve),
  )
  return { url: `http://127.0.0.1:${await listenLocally(server)}`, reports: () => reports.join() }
}

it.each(servers.flatMap(([server, start]) => serverFaults.map((one) => [server, ...one, start] as const)))(
  'on %s, a fault at %s ends the request and its connection, and is reported',
  async (_server, _event, serve, sent, start) => {
    const closed = vi.fn<() => void>()
    const { url, reports } = await start((request, response) => {
      response.onClose.add(closed)
      if (request.head.target === '/next') respondText(response, 'next')
      else serve(request, response)
    })
    const connection = openRawConnection(url)
    connection.write(sent)
    await connection.waitForEnd()
    await eventually(() => expect(reports()).toMatch(/internal_error.*Error: a fault of the program/))
    await eventually(() => expect(closed).toHaveBeenCalledTimes(1))
    const next = openRawConnection(url)
    next.write('GET /next HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n')
    await next.waitFor(/next/)
  },
)

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 40000\r\n\r\n'

const clientFaults: [event: keyof ResponseHandler, bytes: string][] = [
  ['onRequestStart', ok],
  ['onResponseStart', ok],
  ['onResponseData', ok + 'a'.repeat(20_000)],
  ['onResponseEnd', ok + 'a'.repeat(40_000)],
]

it.each(clientFaults)(
  'a fault in %s of a request to an upstream is the reason of its end',
  async (event, bytes) => {
    const upstream = await scripted(writesBytes(bytes))
    const error = await new Promise((resolve) => {
      dispatch(upstream, {
        onResponseData: (_chunk, release) => release?.(),
        onResponseEnd: () => resolve('the end'),
        onResponseError: resolve,
        [event]: fault,
      })
    })
    expect(error).toMatchObject({ message: 'a fault of the program' })
  },
)

it.each([
  ['after a response', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['after an invalid response', 'HTTP/1.1 2000 OK\r\n\r\n'],
])('a fault %s leaves the client usable', async (_when, bytes) => {
  const upstream = await scripted(writesBytes(bytes))
  const ended = vi.fn<() => never>(fault)
  dispatch(upstream, { onResponseEnd: ended, onResponseError: ended })
  await eventually(() => expect(ended).toHaveBeenCalled())
  upstream.script = writesBytes('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnext')
  expect(String((await upstream.get()).body)).toBe('next')
})
