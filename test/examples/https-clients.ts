import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:http2'
import { request } from 'node:https'
import { buffer } from 'node:stream/consumers'

/** Sends a POST on a connection of its own, without verifying the certificate. */
export type Post = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | string,
) => Promise<{ readonly status: number | undefined; readonly body: Buffer }>

const unverified = { rejectUnauthorized: false }

export const postHttp1: Post = async (url, headers, body) => {
  const sent = request(url, { method: 'POST', headers, agent: false, ...unverified })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode, body: await buffer(response) }
}

export const postHttp2: Post = async (url, headers, body) => {
  const session = connect(url, unverified)
  const stream = session.request({ ':method': 'POST', ':path': new URL(url).pathname, ...headers })
  stream.end(body)
  const [{ ':status': status }] = (await once(stream, 'response')) as [{ readonly ':status': number }]
  const received = await buffer(stream)
  session.close()
  return { status, body: received }
}
