import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import { listenOnFreePort } from '../../support/free-port.ts'

export interface ReceivedRequest {
  readonly method: string
  /** Raw request target. */
  readonly target: string
  /** Names as written and values in turn. */
  readonly rawHeaders: readonly string[]
  /** The whole body; rejects if it was truncated. */
  readonly body: Promise<Buffer>
}

/** Whether the gateway sends the request itself to check the health of its upstream. */
export function isHealthCheck({ url = '', headers }: IncomingMessage): boolean {
  return headers['x-request-id'] === undefined && /\/v1\/namespace\/[^/]+\/list\?.*limit=1$/.test(url)
}

/** Handles a request. It may pause the request to leave the body unread. */
export type RequestHandler = (
  arrival: ReceivedRequest,
  response: ServerResponse,
  request: IncomingMessage,
) => unknown

/** A foreign catalog that records requests, and responds as the test defines. */
export interface RecordingUpstream {
  readonly url: string
  /** In the order of arrival of their heads; bodies may be incomplete. */
  readonly requests: ReceivedRequest[]
  /** Of the gateway, apart from `requests`. */
  readonly healthChecks: ReceivedRequest[]
  /** Handles the next requests; the default is `{}` with 200. */
  handler: RequestHandler
  /** Status of health checks; undefined for no response. */
  healthStatus: number | undefined
  close(): Promise<void>
}

/** Starts an upstream on a free port; with a certificate it uses TLS. */
export async function startRecordingUpstream(certificate?: ServerOptions): Promise<RecordingUpstream> {
  const requests: ReceivedRequest[] = []
  const healthChecks: ReceivedRequest[] = []
  const listener: RequestListener = (request, response) => {
    if (isHealthCheck(request)) {
      healthChecks.push(arrivalOf(request))
      if (upstream.healthStatus !== undefined) response.writeHead(upstream.healthStatus).end()
      return
    }
    const arrival = arrivalOf(request)
    requests.push(arrival)
    upstream.handler(arrival, response, request)
  }
  const server = certificate ? createTlsServer(certificate, listener) : createServer(listener)
  const port = await listenOnFreePort(server)
  const upstream: RecordingUpstream = {
    url: `${certificate ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests,
    healthChecks,
    handler: respondWith(200, {}),
    healthStatus: 200,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return upstream
}

/** Reads the request to its end, then responds; an object is sent as JSON. */
export function respondWith(
  status: number,
  body: object | string | Buffer,
  headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
): RequestHandler {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  return async (arrival, response) => {
    await arrival.body.catch(() => undefined)
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(bytes) }).end(bytes)
  }
}

/** The values of a header, in any spelling of its name. */
export function getHeaderValues({ rawHeaders }: Pick<ReceivedRequest, 'rawHeaders'>, name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
}

function arrivalOf(request: IncomingMessage): ReceivedRequest {
  const body = wholeBody(request)
  // Tests that ignore the body also ignore its truncation.
  body.catch(() => undefined)
  return { method: request.method ?? '', target: request.url ?? '', rawHeaders: request.rawHeaders, body }
}

/** Unlike an iterator, it reads nothing while the request is paused. */
function wholeBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
  })
}
