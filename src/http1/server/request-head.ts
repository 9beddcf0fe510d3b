import { METHODS } from 'node:http'
import {
  contentLengthGrammar,
  headGrammar,
  isHeaderField,
  parseHeaderFields,
} from '../codec/header-fields.ts'
import { parseConnectionTokens } from '../../lib/index.ts'
import { malformed } from './request-error.ts'

export interface RequestHead {
  readonly method: string
  /** Raw request target (RFC 9112, section 3.2). */
  readonly target: string
  /** As in `1.1`. */
  readonly version: string
  /** Lower-case names and values in turn. */
  readonly headers: readonly string[]
  /**
   * Length; `chunked` if the length is unknown until its end. `unknown`: for other transfer codings and HTTP versions. Refuse the request; nothing after it can be read.
   */
  readonly body: number | 'chunked' | 'unknown'
  readonly keepAlive: boolean
  /** Whether the client sends the body only after `100 Continue` (RFC 9110, section 10.1.1). */
  readonly expectsContinue: boolean
}

const methods: ReadonlySet<string> = new Set(METHODS)
const targetGrammar = /^[\x21-\x7e]+$/
const requestLine = /^([A-Z-]+) ([\x21-\x7e]+) HTTP\/([0-9]\.[0-9])$/
/**
 * Origin, asterisk and absolute form (RFC 9112, section 3.2). Parsers differ on whether an absolute target overrides
 * `host`: the handler must compare them.
 */
const targetForm = /^(?:[/*]|https?:\/\/(?:[A-Za-z0-9\-._~:]+@)?[A-Za-z0-9\-._~:[\]]+(?:[/?]|$))/
/** Parsers differ on whether a tab is whitespace around the value (RFC 9112, section 5) or a part of it. */
const framingWithTab = /\r\n(?:content-length|transfer-encoding):[^\r]*\t/i
const requestLinePrefix =
  /^[A-Z-]{1,32}(?: (?:[\x21-\x7e]+(?: (?:H(?:T(?:T(?:P(?:\/(?:[0-9](?:\.[0-9]?)?)?)?)?)?)?)?)?)?)?\r?$/

/** Takes a head without the empty line at its end (RFC 9112). Throws RequestError for every deviation and ambiguity. */
export function parseRequestHead(text: string): RequestHead {
  if (!headGrammar.test(text)) throw malformed('the head has invalid characters')
  if (text.includes('\t') && framingWithTab.test(text))
    throw malformed('there is a tab in the content-length or transfer-encoding')
  const found = text.indexOf('\r\n')
  const lineEnd = found === -1 ? text.length : found
  const line = parseRequestLine(text.slice(0, lineEnd))
  const headers = parseHeaderFields(text, lineEnd + 2, (has) => malformed(`the request has ${has}`))
  return createRequestHead(line, headers)
}

type RequestLine = Pick<RequestHead, 'method' | 'target' | 'version'>

function createRequestHead(
  { method, target, version }: RequestLine,
  headers: readonly string[],
): RequestHead {
  const { body, keepAlive, expectsContinue } = parseFraming(version, headers)
  // Spreading the parts into one object took longer than parsing them.
  return { method, target, version, headers, body, keepAlive, expectsContinue }
}

/**
 * Creates the head of a request of HTTP/1.1 that another parser has read, from all its headers. Throws RequestError
 * for a head that `parseRequestHead` would refuse.
 */
export function createParsedRequestHead(line: RequestLine, headers: readonly string[]): RequestHead {
  if (!targetGrammar.test(line.target)) throw malformed('the target has invalid characters')
  assertMethodAndTarget(line)
  for (let index = 0; index < headers.length; index += 2) {
    if (!isHeaderField(headers[index] ?? '', headers[index + 1] ?? ''))
      throw malformed('the request has an invalid header')
  }
  return createRequestHead(line, headers)
}

/** Throws RequestError if the line is neither a request line with `\r\n` at its end nor a prefix of one. */
export function assertRequestLinePrefix(line: string): void {
  if (line.endsWith('\r\n')) parseRequestLine(line.slice(0, -2))
  else if (!requestLinePrefix.test(line)) throw missingRequestLine()
}

function parseRequestLine(text: string): RequestLine {
  const match = requestLine.exec(text)
  if (match === null) throw missingRequestLine()
  const [, method = '', target = '', version = ''] = match
  const line = { method, target, version }
  assertMethodAndTarget(line)
  return line
}

function assertMethodAndTarget({ method, target }: RequestLine): void {
  if (!methods.has(method)) throw malformed('the method is unknown')
  // The authority form of CONNECT is of no use to a server that refuses the method.
  if (method !== 'CONNECT' && !targetForm.test(target))
    throw malformed('the target is neither a path nor an http URL')
}

function missingRequestLine(): Error {
  return malformed('the head does not start with a request line')
}

type Framing = Pick<RequestHead, 'body' | 'keepAlive' | 'expectsContinue'>

function parseFraming(version: string, headers: readonly string[]): Framing {
  let length: string | undefined
  let coding: string | undefined
  let connection = ''
  let expectsContinue = false
  for (let index = 0; index < headers.length; index += 2) {
    const value = headers[index + 1] ?? ''
    switch (headers[index] ?? '') {
      case 'content-length':
        if (length !== undefined || !contentLengthGrammar.test(value))
          throw malformed('the content-length is repeated or invalid')
        length = value
        break
      case 'transfer-encoding':
        coding = coding === undefined ? value.toLowerCase() : 'several'
        break
      case 'connection':
        connection += `,${value}`
        break
      case 'expect':
        expectsContinue = version === '1.1' && value.toLowerCase() === '100-continue'
    }
  }
  if (coding !== undefined && length !== undefined)
    throw malformed('there is both a content-length and a transfer-encoding')
  const isSupported = version === '1.1' || (version === '1.0' && coding === undefined)
  const isUnknown = !isSupported || (coding !== undefined && coding !== 'chunked')
  const body = isUnknown ? 'unknown' : coding === undefined ? Number(length ?? 0) : 'chunked'
  return { body, keepAlive: !isUnknown && isPersistent(version, connection), expectsContinue }
}

/** RFC 9112, section 9.3. */
function isPersistent(version: string, connection: string): boolean {
  if (connection === '') return version === '1.1'
  const options = parseConnectionTokens(connection)
  return !options.includes('close') && (version === '1.1' || options.includes('keep-alive'))
}
