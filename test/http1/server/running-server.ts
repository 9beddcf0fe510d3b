import { onTestFinished } from 'vitest'
import type { IncomingRequest } from '../../../src/http1/server/incoming-request.ts'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import type { RequestErrorReason } from '../../../src/http1/server/request-error.ts'
import { RequestQueue } from '../../../src/http1/server/request-queue.ts'
import {
  type ConnectionErrorReason,
  createListener,
  type Listener,
  type ListenerOptions,
} from '../../../src/listener/listener.ts'

interface ServerSetup extends Partial<Pick<ListenerOptions, 'maxHeadBytes' | 'scheduler' | 'tls'>> {
  readonly timeouts?: Partial<ListenerOptions['timeouts']>
  /** Address to listen on. */
  readonly host?: string
}

export interface RunningServer {
  readonly server: Listener
  readonly url: string
  readonly errors: ConnectionErrorReason[]
  /** Of the errors, for logs. */
  readonly causes: string[]
}

/** Longer than any test. */
const longTimeouts: ListenerOptions['timeouts'] = {
  headersTimeoutMs: 60_000,
  keepAliveTimeoutMs: 60_000,
  sendTimeoutMs: 60_000,
  maxConnectionAgeMs: 60_000,
}

const statuses: Readonly<Record<RequestErrorReason, number | undefined>> = {
  request_timeout: 408,
  headers_too_large: 431,
  idle_timeout: undefined,
  incomplete_request: 400,
  malformed_request: 400,
  tls_on_plain_port: 400,
}

/** Runs a server whose requests are served by `onRequest`, until the end of the test. */
export async function runServer(
  onRequest: (request: IncomingRequest, response: OutgoingResponse) => void,
  {
    maxHeadBytes = 8 * 1024,
    timeouts,
    scheduler = new RequestQueue(),
    tls,
    host = '127.0.0.1',
  }: ServerSetup = {},
): Promise<RunningServer> {
  const errors: ConnectionErrorReason[] = []
  const causes: string[] = []
  const server = createListener(
    {
      maxHeadBytes,
      maxConnections: 1_000,
      maxConnectionsPerAddress: undefined,
      timeouts: { ...longTimeouts, ...timeouts },
      scheduler,
      tls,
      isTrustedProxy: () => false,
    },
    {
      onRequest,
      onConnectionError(reason, _addresses, cause = '') {
        errors.push(reason)
        causes.push(cause)
      },
      errorResponse({ reason }) {
        const status = statuses[reason]
        if (status === undefined) return undefined
        return { status, headers: ['content-type', 'text/plain'], body: `error: ${reason}` }
      },
    },
  )
  const port = await server.listen({ host, port: 0 })
  onTestFinished(async () => {
    server.destroyAll()
    if (server.server.listening) await server.stopAccepting()
  })
  return { server, url: `http://127.0.0.1:${port}`, errors, causes }
}

/** Runs a server that holds its responses until the test completes them. */
export async function runHolding(timeouts: ServerSetup['timeouts'] = {}) {
  const started: OutgoingResponse[] = []
  const running = await runServer((_, response) => void started.push(response), { timeouts })
  return { ...running, started }
}

export function bodyOf(request: IncomingRequest): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    request.consume({
      onRequestData: (chunk) => void chunks.push(Buffer.from(chunk)),
      onRequestEnd: () => resolve(Buffer.concat(chunks)),
      onRequestError: () => reject(new Error('the body was aborted')),
    })
  })
}

export function respondText(response: Pick<OutgoingResponse, 'writeHead' | 'end'>, text: string): void {
  response.writeHead(200, ['content-length', String(text.length)])
  response.end(text)
}
