import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { arrowFileType, arrowStreamType, type Operation } from 'catalog-gateway/catalog-api'
import { getMembers, hasErrorCode } from 'catalog-gateway/lib'

/** A response that is still to be sent. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | AsyncIterable<unknown>
}

export const jsonType = 'application/json; charset=utf-8'

export function toJsonReply(value: unknown, status = 200, headers: Reply['headers'] = {}): Reply {
  return { status, headers: { ...headers, 'content-type': jsonType }, body: JSON.stringify(value) }
}

/** JSON (plain text if the result is a text and the client asks for that), an empty body, or Arrow data. */
export function toReply(operation: Operation, result: unknown, accept: string | undefined): Reply {
  // Then a job continues the work.
  const hasJob = operation.mayStartJob && typeof getMembers(result)['job_id'] === 'string'
  const status = hasJob ? 202 : operation.status
  if (operation.response === 'empty') return { status, headers: {}, body: '' }
  if (typeof result === 'string' && prefersPlainText(accept))
    return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: result }
  if (operation.response === 'json') return toJsonReply(result, status)
  if (!isAsyncIterable(result)) throw new TypeError(`${operation.name} returned no Arrow data`)
  const type = operation.response === 'arrow' ? arrowFileType : arrowStreamType
  return { status, headers: { 'content-type': type }, body: result }
}

/**
 * Streams with backpressure; a query ends if the client disconnects. If a query fails midway, `onFailure` is called and
 * the connection is reset, so that a partial response never looks complete.
 */
export async function sendReply(
  response: ServerResponse,
  { status, headers, body }: Reply,
  onFailure: (error: unknown) => void = () => {},
): Promise<void> {
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (typeof body === 'string') {
    // Node sets it for no response to HEAD.
    response.setHeader('content-length', Buffer.byteLength(body))
    response.end(body)
    return
  }
  await pipeline(Readable.from(body, { objectMode: false }), response).catch((error: unknown) => {
    if (!hasErrorCode(error, 'ERR_STREAM_PREMATURE_CLOSE')) onFailure(error)
  })
}

/** Whether a client accepts plain text and no JSON. Many clients list both, and expect JSON. */
function prefersPlainText(accept = ''): boolean {
  return /\btext\/plain\b/i.test(accept) && !/\bapplication\/(?:json\b|\*)|\*\/\*/i.test(accept)
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
