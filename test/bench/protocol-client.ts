import { once } from 'node:events'
import { Agent, request as requestHttp } from 'node:http'
import { connect, type ClientHttp2Session } from 'node:http2'
import { Agent as TlsAgent, request as requestHttps } from 'node:https'
import type { Readable } from 'node:stream'

export const protocols = ['HTTP/1.1', 'HTTP/1.1 over TLS', 'HTTP/2 over TLS'] as const
export type Protocol = (typeof protocols)[number]

export interface ProtocolClient {
  /** Sends a POST request, and reads its response to the end. Rejects for any status but 200. */
  post(path: string, headers: Readonly<Record<string, string>>, body: Buffer | undefined): Promise<void>
  close(): void
}

const sessions = 4

/**
 * Creates a client of a server on that port, with as many connections as are needed, or four of HTTP/2. `connects`: each
 * request of HTTP/1.1 opens a connection.
 */
export function createProtocolClient(protocol: Protocol, port: number, connects = false): ProtocolClient {
  return protocol === 'HTTP/2 over TLS'
    ? http2Client(port)
    : http1Client(protocol === 'HTTP/1.1 over TLS', port, connects)
}

function http1Client(isSecure: boolean, port: number, connects: boolean): ProtocolClient {
  const keepAlive = !connects
  const agent = isSecure
    ? new TlsAgent({ keepAlive, maxCachedSessions: 0, rejectUnauthorized: false })
    : new Agent({ keepAlive })
  return {
    post(path, headers, body) {
      const request = isSecure ? requestHttps : requestHttp
      return new Promise((resolve, reject) => {
        const length = { 'content-length': String(body?.length ?? 0) }
        const outgoing = request({
          agent,
          port,
          path,
          host: '127.0.0.1',
          method: 'POST',
          headers: { ...headers, ...length },
        })
        outgoing.once('error', reject)
        outgoing.once('response', (response) => {
          readAll(response, response.statusCode).then(resolve, reject)
        })
        outgoing.end(body)
      })
    },
    close: () => agent.destroy(),
  }
}

function http2Client(port: number): ProtocolClient {
  const open: ClientHttp2Session[] = Array.from({ length: sessions }, () => {
    const session = connect(`https://127.0.0.1:${port}`, {
      rejectUnauthorized: false,
      settings: { initialWindowSize: 1024 * 1024 },
      // In MB. A whole upload is written at once.
      maxSessionMemory: 1_000,
    })
    session.once('connect', () => session.setLocalWindowSize(16 * 1024 * 1024))
    return session
  })
  let next = 0
  return {
    async post(path, headers, body) {
      const session = open[(next += 1) % sessions]
      if (session === undefined) throw new Error('there is no session')
      const fields = { ':method': 'POST', ':path': path, ...headers }
      const stream = session.request(fields, { endStream: body === undefined })
      if (body !== undefined) stream.end(body)
      const [received] = await once(stream, 'response')
      await readAll(stream, (received as Record<string, number>)[':status'])
    },
    close: () => open.forEach((session) => session.destroy()),
  }
}

async function readAll(body: Readable, status: number | undefined): Promise<void> {
  body.resume()
  await once(body, 'end')
  if (status !== 200) throw new Error(`unexpected status ${status}`)
}
