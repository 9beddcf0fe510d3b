import type { Field } from '../../support/hpack.ts'
import { writeHead } from '../../support/http2-frames.ts'
import { openRawHttp2 } from './raw-http2.ts'
import { createTestResponse, type TestResponse } from './test-response.ts'

/**
 * Sends a request with these fields on a connection of its own, whatever they are: a client of HTTP/2 would refuse to.
 * Resolves with undefined if the stream is reset, or the connection is closed.
 */
export async function sendUnchecked(
  url: string,
  fields: readonly Field[],
  body: Buffer | undefined,
): Promise<TestResponse | undefined> {
  const connection = await openRawHttp2(url)
  await connection.write(writeHead(1, fields, body === undefined))
  if (body !== undefined) await connection.upload(1, body)
  const end = await connection.waitForEnd(1)
  connection.end()
  if (end !== 'complete') return undefined
  return createTestResponse(
    connection.status(1) ?? 0,
    Object.fromEntries(connection.headers(1)),
    connection.bytes(1),
  )
}
