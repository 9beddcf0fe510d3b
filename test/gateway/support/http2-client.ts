import {
  connect,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type SecureClientSessionOptions,
} from 'node:http2'
import { Readable } from 'node:stream'
import type { TestClient } from './test-client.ts'

/** A client of HTTP/2, over TLS by the scheme of the origin. Like a pool, it connects again if the gateway has closed the connection. */
export function createHttp2Client(origin: string, options?: SecureClientSessionOptions): TestClient {
  let session: ClientHttp2Session | undefined
  const currentSession = (): ClientHttp2Session => {
    if (session === undefined || session.closed || session.destroyed) {
      session = connect(origin, options)
      // Each stream reports it.
      session.on('error', () => undefined)
    }
    return session
  }
  return {
    async request({ method, path, headers, body, signal }) {
      const isSized = typeof body === 'string' || Buffer.isBuffer(body)
      const stream = currentSession().request(
        {
          ':method': method,
          ':path': path,
          ...lowerCaseNames(headers),
          ...(isSized && { 'content-length': Buffer.byteLength(body) }),
        },
        { endStream: body === undefined, ...(signal && { signal }) },
      )
      const response = receiveHead(stream)
      if (isSized) stream.end(body)
      else if (body instanceof Readable) {
        body.on('error', () => stream.destroy()).pipe(stream)
        stream.on('error', () => body.unpipe(stream))
      }
      return response
    },
    destroy: () => Promise.resolve(session?.destroy()),
  }
}

/** Rejects if the stream ends before the head of a response. */
export function receiveHead(stream: ClientHttp2Stream): ReturnType<TestClient['request']> {
  return new Promise((resolve, reject) => {
    stream
      .on('response', (head) => {
        const fields = Object.entries(head).filter(([name]) => !name.startsWith(':'))
        resolve({ statusCode: head[':status'] ?? 0, headers: Object.fromEntries(fields), body: stream })
      })
      .on('error', reject)
      .on('close', () => reject(new Error(`the stream was closed with ${stream.rstCode}`)))
  })
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
