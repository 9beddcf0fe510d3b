import type { BodySource } from '../codec/body-source.ts'
import { contentLengthGrammar, isHeaderField } from '../codec/header-fields.ts'
import { TransportError } from './transport-error.ts'

export interface OutgoingRequest {
  readonly method: 'GET' | 'HEAD' | 'POST'
  readonly path: string
  /** Names and values in turn. A `content-length` is used for a source only; without one, the body is sent in chunks. */
  readonly headers: readonly string[]
  readonly body: Buffer | BodySource | null
}

export interface SerializedHead {
  readonly text: string
  /** Length of the body; undefined for the chunked coding. */
  readonly length: number | undefined
}

const targetGrammar = /^\/[\x21-\x7e]*$/
/** Only the client writes them. */
const connectionHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'transfer-encoding'])

/** Throws TransportError for a request that a server could parse as anything but exactly this request. */
export function serializeRequestHead(
  { method, path, headers, body }: OutgoingRequest,
  host: string,
): SerializedHead {
  if (!targetGrammar.test(path)) throw badRequest('target')
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  let length = body === null ? 0 : Buffer.isBuffer(body) ? body.length : undefined
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    const value = headers[index + 1] ?? ''
    if (connectionHeaders.has(name) || !isHeaderField(name, value)) throw badRequest('header')
    if (name !== 'content-length') text += `${name}: ${value}\r\n`
    else length ??= parseLength(value)
  }
  if (length === undefined) text += 'transfer-encoding: chunked\r\n'
  else if (body !== null || method === 'POST') text += `content-length: ${length}\r\n`
  return { text: `${text}\r\n`, length }
}

function parseLength(value: string): number {
  if (!contentLengthGrammar.test(value)) throw badRequest('content-length')
  return Number(value)
}

function badRequest(part: string): TransportError {
  return new TransportError('BAD_REQUEST', `the ${part} of the request is invalid`)
}
