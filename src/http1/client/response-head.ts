import { parseConnectionTokens } from '../../lib/index.ts'
import { contentLengthGrammar, headGrammar, parseHeaderFields } from '../codec/header-fields.ts'
import { badResponse } from './transport-error.ts'

export interface ResponseHead {
  readonly status: number
  /** Lower-case names and values in turn. */
  readonly headers: string[]
  /** Length in bytes, the chunked coding, or (errors only) the end of the connection. */
  readonly body: number | 'chunked' | 'until closed'
  /** Milliseconds that the connection may stay idle before its next request; 0 if it cannot be reused. */
  readonly keepAliveMs: number
}

const maxHeaders = 256
const defaultKeepAliveMs = 4_000
const maxKeepAliveMs = 600_000
/** A connection is not reused this close to the end of its keep-alive timeout. */
const keepAliveMarginMs = 2_000

const headStart = 'HTTP/1.'
/** Grammar of any part of a head. */
const partGrammar = /^\n?[\t\x20-\x7e\x80-\xff]*(?:\r\n[\t\x20-\x7e\x80-\xff]*)*\r?$/
const statusLine = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: [^\r]*)?(?:\r\n|$)/
/** Headers whose value is not a list (RFC 9110): recipients differ on which of two values counts. */
const singleHeaders: ReadonlySet<string> = new Set([
  'age',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'date',
  'etag',
  'expires',
  'last-modified',
  'location',
  'retry-after',
])

/**
 * Takes a head without the empty line at its end (RFC 9112), and whether it responds to HEAD. Throws TransportError for
 * every deviation and ambiguity.
 */
export function parseResponseHead(text: string, isToHead = false): ResponseHead {
  if (!headGrammar.test(text)) throw invalidHead()
  const match = statusLine.exec(text)
  if (match === null) throw badResponse('the response does not start with a status line of HTTP/1.1')
  const status = Number(match[2])
  const headers = parseFields(text, match[0].length)
  const { body, keepAliveMs } = parseFraming(status, match[1] === '1', headers, isToHead)
  return { status, headers, body, keepAliveMs }
}

/**
 * Throws TransportError if the bytes cannot begin a head: its end may never arrive. Those before an offset have passed this
 * already.
 */
export function assertHeadPrefix(bytes: Buffer, from: number): void {
  if (!headStart.startsWith(bytes.toString('latin1', 0, headStart.length)))
    throw badResponse('the response is not of HTTP/1.1')
  if (!partGrammar.test(bytes.toString('latin1', Math.max(0, from - 1)))) throw invalidHead()
}

function invalidHead(): Error {
  return badResponse('the head of the response has invalid characters or line ends')
}

function parseFields(text: string, from: number): string[] {
  const headers = parseHeaderFields(text, from, (has) => badResponse(`the response has ${has}`), maxHeaders)
  const seen = new Set<string>()
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    if (!singleHeaders.has(name)) continue
    if (seen.has(name)) throw badResponse(`the response has two headers ${name}`)
    seen.add(name)
  }
  return headers
}

function parseFraming(
  status: number,
  isHttp11: boolean,
  headers: readonly string[],
  isToHead: boolean,
): Pick<ResponseHead, 'body' | 'keepAliveMs'> {
  let length: string | undefined
  let coding: string | undefined
  let keepAliveMs = isHttp11 ? defaultKeepAliveMs : 0
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    const value = headers[index + 1] ?? ''
    switch (name) {
      case 'content-length':
        if (!contentLengthGrammar.test(value))
          throw badResponse('the content-length of the response is invalid')
        length = value
        break
      case 'transfer-encoding':
        if (coding !== undefined || value.toLowerCase() !== 'chunked')
          throw badResponse('the response has a transfer coding that is not chunked alone')
        coding = value
        break
      case 'connection':
        if (parseConnectionTokens(value).includes('close')) keepAliveMs = 0
        break
      case 'keep-alive':
        if (keepAliveMs > 0) keepAliveMs = parseKeepAlive(value)
    }
  }
  if (coding !== undefined && (length !== undefined || !isHttp11))
    throw badResponse('the end of the response is ambiguous')
  // A server that sends the body nevertheless could have it read as the next response.
  if (isToHead) return { body: 0, keepAliveMs: 0 }
  if (status === 204 || status === 304) {
    const isReusable = status === 304 || (coding === undefined && Number(length ?? 0) === 0)
    return { body: 0, keepAliveMs: isReusable ? keepAliveMs : 0 }
  }
  if (coding !== undefined) return { body: 'chunked', keepAliveMs }
  if (length !== undefined) return { body: Number(length), keepAliveMs }
  // A killed upstream closes the connection, too, and node does not report whether TLS was closed with close_notify.
  if (status >= 200 && status < 300)
    throw badResponse('the response has neither a content-length nor chunks, and may be truncated')
  return { body: 'until closed', keepAliveMs: 0 }
}

function parseKeepAlive(value: string): number {
  const seconds = /(?:^|[,;\s])timeout=([0-9]{1,9})/i.exec(value)?.[1]
  if (seconds === undefined) return defaultKeepAliveMs
  return Math.min(maxKeepAliveMs, Math.max(0, Number(seconds) * 1000 - keepAliveMarginMs))
}
