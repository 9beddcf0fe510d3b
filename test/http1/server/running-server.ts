import { onTestFinished } from 'vitest'
import type {
  ConnectionErrorReason,
  Http1ServerHandler,
  OtherServers,
} from '../../../src/http1/server/connection-set.ts'
import {
  createHttp1Server,
  type Http1Server,
  type Http1ServerOptions,
} from '../../../src/http1/server/http1-server.ts'
import type { IncomingRequest } from '../../../src/http1/server/incoming-request.ts'
import type { OutgoingResponse } from '../../../src/http1/server/outgoing-response.ts'
import type { RequestErrorReason } from '../../../src/http1/server/request-error.ts'
import { RequestQueue } from '../../../src/http1/server/request-queue.ts'

interface ServerSetup extends Partial<Pick<Http1ServerOptions, 'maxHeadBytes' | 'scheduler' | 'tls'>> {
  readonly timeouts?: Partial<Http1ServerOptions['timeouts']>
  /** Creates servers behind the listener, which report errors as it does. */
  readonly others?: (handler: ErrorHandler) => OtherServers
}

export type ErrorHandler = Pick<Http1ServerHandler, 'onConnectionError' | 'errorResponse'>

export interface RunningServer {
  readonly server: Http1Server
  readonly url: string
  readonly errors: ConnectionErrorReason[]
  /** Of the errors, for logs. */
  readonly causes: string[]
}

/** Longer than any test. */
export const longTimeouts: Http1ServerOptions['timeouts'] = {
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
  { maxHeadBytes = 8 * 1024, timeouts, scheduler = new RequestQueue(), tls, others }: ServerSetup = {},
): Promise<RunningServer> {
  const errors: ConnectionErrorReason[] = []
  const causes: string[] = []
  const errorHandler: ErrorHandler = {
    onConnectionError(reason, _remoteAddress, cause = '') {
      errors.push(reason)
      causes.push(cause)
    },
    errorResponse({ reason }) {
      const status = statuses[reason]
      if (status === undefined) return undefined
      return { status, headers: ['content-type', 'text/plain'], body: `error: ${reason}` }
    },
  }
  const server = createHttp1Server(
    {
      maxHeadBytes,
      maxConnections: 1_000,
      maxConnectionsPerAddress: undefined,
      timeouts: { ...longTimeouts, ...timeouts },
      scheduler,
      tls,
      ...(others && { others: others(errorHandler) }),
    },
    { onRequest, ...errorHandler },
  )
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    server.destroyAll()
    if (server.isListening) await server.stopAccepting()
  })
  return { server, url: `http://127.0.0.1:${port}`, errors, causes }
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
