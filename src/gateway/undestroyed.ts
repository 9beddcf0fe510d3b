import { Readable } from 'node:stream'

/**
 * The body of a client as a stream of its own: when the upstream answers early, undici destroys the stream that it
 * was sending, and with the request itself the connection to the client would go.
 */
export function undestroyed(body: Readable): Readable {
  return Readable.from(body.iterator({ destroyOnReturn: false }), {
    objectMode: false,
    highWaterMark: 64 * 1024,
  })
}
