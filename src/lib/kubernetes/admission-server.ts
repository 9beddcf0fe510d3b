import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import {
  createAdmissionReview,
  parseAdmissionReview,
  type AdmissionRequest,
  type AdmissionResult,
} from './admission-review.ts'
import { readBounded } from '../http/read-bounded.ts'

/** A review contains the new object and the old one; etcd stores at most 1.5 MiB of each by default. */
const maxBodyBytes = 4 * 1024 * 1024
/** API servers are few, and each reuses its connections. */
const maxConnections = 100
const timeoutMs = 10_000
/** Time for active requests when the server closes. */
const closeMs = 1_000

export interface AdmissionServerOptions {
  /** Certificate and key of the server, and the CA certificates of its clients. */
  readonly context: SecureContextOptions
  /** Decides about an object. If it rejects, the connection is closed without a response. */
  readonly review: (request: AdmissionRequest) => Promise<AdmissionResult>
}

/** A webhook for API servers: responds to `POST /` with an AdmissionReview. Its errors go to the API server alone. */
export interface AdmissionServer {
  /** Closes all connections, so that clients are verified with the new certificates. */
  setCertificates(context: SecureContextOptions): void
  /** Resolves with the URL of the server when it accepts requests. */
  listen(address: { readonly host: string; readonly port: number }): Promise<string>
  close(): Promise<void>
}

/** Creates a server that accepts only clients with a certificate of `context.ca`. */
export function createAdmissionServer({ context, review }: AdmissionServerOptions): AdmissionServer {
  const server = createServer(
    {
      ...context,
      requestCert: true,
      rejectUnauthorized: true,
      handshakeTimeout: timeoutMs,
      headersTimeout: timeoutMs,
      requestTimeout: timeoutMs,
      keepAliveTimeout: 10 * timeoutMs,
    },
    (request, response) => {
      respond(request, response, review).catch(() => response.destroy())
    },
  )
  server.maxConnections = maxConnections
  return {
    setCertificates(changed) {
      server.setSecureContext(changed)
      server.closeAllConnections()
    },
    async listen({ host, port }) {
      server.listen({ host, port })
      await once(server, 'listening')
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      return `https://${host.includes(':') ? `[${host}]` : host}:${bound}`
    },
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      const timer = setTimeout(() => server.closeAllConnections(), closeMs)
      await closed
      clearTimeout(timer)
    },
  }
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  review: AdmissionServerOptions['review'],
): Promise<void> {
  if (request.method !== 'POST') {
    sendError(response, 405, 'expected POST')
    return
  }
  const isTooLong = Number(request.headers['content-length']) > maxBodyBytes
  const body = isTooLong ? undefined : await readBounded(request, maxBodyBytes)
  if (body === undefined) {
    sendError(response, 413, `the body is larger than ${maxBodyBytes} bytes`)
    return
  }
  const asked = parseAdmissionReview(parseJson(body.toString()))
  if (asked === undefined) sendError(response, 400, 'expected an AdmissionReview of admission.k8s.io/v1')
  else send(response, 200, createAdmissionReview(asked, await review(asked)))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function sendError(response: ServerResponse, status: number, error: string): void {
  response.setHeader('connection', 'close')
  send(response, status, { error })
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
