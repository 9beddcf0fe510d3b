import { headGrammar, lengthGrammar, readHeaderFields } from '../../http/header-fields.ts'
import { badAnswer } from './transport-error.ts'

/** What the head of an answer says. */
export interface AnswerHead {
  readonly status: number
  /** Names in lower case and values, in turn. */
  readonly headers: string[]
  /** Where the body ends: after so many bytes, with its last chunk, or, only of a failure, with the connection. */
  readonly body: number | 'chunked' | 'until closed'
  /** Milliseconds for which the connection may wait for another request; 0 where it is of no more use. */
  readonly keepAliveMs: number
}

/** The most headers of one answer. */
const maximumHeaders = 256
/** How long a connection may be idle unless the upstream says how long it keeps it. */
const usualKeepAliveMs = 4_000
const maximumKeepAliveMs = 600_000
/** So much before the upstream closes a connection, it is used no more. */
const keepAliveMarginMs = 2_000

const statusLine = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: |$)/

/**
 * Reads the head of an answer, without the empty line at its end, by RFC 9112. Throws TransportError for everything
 * that is not exactly as it should be: what one reader takes for the end of a body another may not.
 */
export function readAnswerHead(text: string): AnswerHead {
  if (!headGrammar.test(text)) throw badAnswer('the head of the answer holds characters that it may not')
  const lineEnd = text.indexOf('\r\n')
  const match = statusLine.exec(lineEnd === -1 ? text : text.slice(0, lineEnd))
  if (match === null) throw badAnswer('the answer does not begin with a status line of HTTP/1.1')
  const status = Number(match[2])
  const headers =
    lineEnd === -1
      ? []
      : readHeaderFields(text, lineEnd + 2, (has) => badAnswer(`the answer has ${has}`), maximumHeaders)
  const { body, keepAliveMs } = framing(status, match[1] === '1', headers)
  return { status, headers, body, keepAliveMs }
}

type Framing = Pick<AnswerHead, 'body' | 'keepAliveMs'>

function framing(status: number, isCurrent: boolean, headers: readonly string[]): Framing {
  let length: string | undefined
  let coding: string | undefined
  let keepAliveMs = isCurrent ? usualKeepAliveMs : 0
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    const value = headers[index + 1] ?? ''
    switch (name) {
      case 'content-length':
        if (length !== undefined || !lengthGrammar.test(value))
          throw badAnswer('the length of the answer is unclear')
        length = value
        break
      case 'transfer-encoding':
        if (coding !== undefined || value.toLowerCase() !== 'chunked')
          throw badAnswer('the answer has a transfer coding that is not chunked alone')
        coding = value
        break
      case 'connection':
        if (listsClose(value)) keepAliveMs = 0
        break
      case 'keep-alive':
        if (keepAliveMs > 0) keepAliveMs = toldKeepAliveMs(value)
    }
  }
  if (coding !== undefined && (length !== undefined || !isCurrent))
    throw badAnswer('the end of the answer is unclear')
  if (status === 204 || status === 304) {
    const isPlain = status === 304 || (coding === undefined && Number(length ?? 0) === 0)
    return { body: 0, keepAliveMs: isPlain ? keepAliveMs : 0 }
  }
  if (coding !== undefined) return { body: 'chunked', keepAliveMs }
  if (length !== undefined) return { body: Number(length), keepAliveMs }
  // An upstream that is killed closes the connection, too, and node does not say whether TLS was closed in order.
  if (isSuccess(status)) throw badAnswer('the answer has neither a length nor chunks: it could be cut short')
  return { body: 'until closed', keepAliveMs: 0 }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

function listsClose(value: string): boolean {
  return value
    .toLowerCase()
    .split(',')
    .some((option) => option.trim() === 'close')
}

function toldKeepAliveMs(value: string): number {
  const seconds = /(?:^|[,;\s])timeout=([0-9]{1,9})/i.exec(value)?.[1]
  if (seconds === undefined) return usualKeepAliveMs
  return Math.min(maximumKeepAliveMs, Math.max(0, Number(seconds) * 1000 - keepAliveMarginMs))
}
