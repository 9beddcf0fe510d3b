import type { Readable } from 'node:stream'
import { isHeaderField, lengthGrammar } from '../../http/header-fields.ts'
import { TransportError } from './transport-error.ts'

/** What is sent to an upstream. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Names and values in turn. A `content-length` is of use, and may be told, only where the body is a stream. */
  readonly headers: readonly string[]
  readonly body: Buffer | Readable | null
  /** Whether the pieces of a body that is a stream are as they were read, and nobody needs them any more. */
  readonly ownsBody?: boolean
}

/** The head of a request as it is written, and how long a body that is a stream has said to be. */
export interface RequestHead {
  readonly text: string
  readonly length: number | undefined
}

const targetGrammar = /^\/[\x21-\x7e]*$/
/** They say where the request ends and where it goes: nobody else writes them. */
const own: ReadonlySet<string> = new Set(['host', 'connection', 'transfer-encoding'])

/** Throws TransportError for what would not be one request any more once it is written. */
export function requestHead({ method, path, headers, body }: OutgoingRequest, host: string): RequestHead {
  if (!targetGrammar.test(path)) throw unfit('target')
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  let length = body === null ? 0 : Buffer.isBuffer(body) ? body.length : undefined
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    const value = headers[index + 1] ?? ''
    if (own.has(name) || !isHeaderField(name, value)) throw unfit('header')
    if (name !== 'content-length') text += `${name}: ${value}\r\n`
    else length ??= lengthIn(value)
  }
  if (length === undefined) text += 'transfer-encoding: chunked\r\n'
  else if (body !== null || method === 'POST') text += `content-length: ${length}\r\n`
  return { text: `${text}\r\n`, length }
}

function lengthIn(value: string): number {
  if (!lengthGrammar.test(value)) throw unfit('length')
  return Number(value)
}

function unfit(what: string): TransportError {
  return new TransportError('BAD_REQUEST', `a ${what} of the request cannot be sent`)
}
