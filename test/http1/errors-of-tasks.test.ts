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

function throwError(): never {
  throw new Error('an unexpected error')
}

it('a task that throws fails its owner, and those behind it run', async () => {
  const failed: string[] = []
  const owner = { fail: ({ message }: Error) => void failed.push(message) }
  const ran: string[] = []
  expect(ownedBy(owner, throwError)()).toBeUndefined()
  scheduleAtTickEnd(owner, throwError)
  scheduleAtTickEnd(owner, () => ran.push('tick'))
  const callbacks = new CallbackList(owner)
  callbacks.add(throwError)
  callbacks.add(() => ran.push('callback'))
  callbacks.call()
  await new Promise(setImmediate)
  expect(ran).toEqual(['callback', 'tick'])
  expect(failed).toEqual(Array.from({ length: 3 }, () => 'an unexpected error'))
  expect(ownedBy({ fail: throwError }, throwError)()).toBeUndefined()
})

type Serve = (request: IncomingRequest, response: OutgoingResponse | NodeResponse) => void

const post = 'POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\n'
const whole = `${post}abc`

const body = { timeoutMs: 20, minBytesPerSecond: 1e9, error: throwError }

function consumeBy(handler: Partial<RequestBodyHandler>) {
  return (request: IncomingRequest): void =>
    request.consume({ onRequestData() {}, onRequestEnd() {}, onRequestError() {}, ...handler })
}

/** Where a request can throw, by the event that its task is for. */
const serverErrors: [event: string, serve: Serve, sent: string][] = [
  ['the head', throwError, whole],
  ['a chunk of the body', consumeBy({ onRequestData: throwError }), whole],
  ['the end of the body', consumeBy({ onRequestEnd: throwError }), whole],
  [
    'a body that is too slow',
    (request, response) => void new RequestBody(request, response, body).readAll(() => undefined),
    post,
  ],
  [
    'the end of its response',
    (_, response) => {
      response.onClose.add(throwError)
      respondText(response, 'done')
    },
    whole,
  ],
  [
    'the end of its connection',
    (request) => {
      consumeBy({ onRequestError: throwError })(request)
      request.socket.destroy()
    },
    post,
  ],
  [
    'more room for its response',
    (_, response) => {
      response.onDrain.add(throwError)
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

it.each(servers.flatMap(([server, start]) => serverErrors.map((one) => [server, ...one, start] as const)))(
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
    await eventually(() => expect(reports()).toMatch(/internal_error.*Error: an unexpected error/))
    await eventually(() => expect(closed).toHaveBeenCalledTimes(1))
    const next = openRawConnection(url)
    next.write('GET /next HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n')
    await next.waitFor(/next/)
  },
)

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 40000\r\n\r\n'

const clientErrors: [event: keyof ResponseHandler, bytes: string][] = [
  ['onRequestStart', ok],
  ['onResponseStart', ok],
  ['onResponseData', ok + 'a'.repeat(20_000)],
  ['onResponseEnd', ok + 'a'.repeat(40_000)],
]

it.each(clientErrors)(
  'a fault in %s of a request to an upstream is the reason of its end',
  async (event, bytes) => {
    const upstream = await scripted(writesBytes(bytes))
    const error = await new Promise((resolve) => {
      dispatch(upstream, {
        onResponseData: (_chunk, release) => release?.(),
        onResponseEnd: () => resolve('the end'),
        onResponseError: resolve,
        [event]: throwError,
      })
    })
    expect(error).toMatchObject({ message: 'an unexpected error' })
  },
)

it.each([
  ['after a response', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['after an invalid response', 'HTTP/1.1 2000 OK\r\n\r\n'],
])('a fault %s leaves the client usable', async (_when, bytes) => {
  const upstream = await scripted(writesBytes(bytes))
  const ended = vi.fn<() => never>(throwError)
  dispatch(upstream, { onResponseEnd: ended, onResponseError: ended })
  await eventually(() => expect(ended).toHaveBeenCalled())
  upstream.script = writesBytes('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnext')
  expect(String((await upstream.get()).body)).toBe('next')
})
