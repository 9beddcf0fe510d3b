import { METHODS } from 'node:http'
import { headGrammar, lengthGrammar, readHeaderFields } from '../http/header-fields.ts'
import { malformed } from './no-request.ts'

/** What the head of a request says. */
export interface RequestHead {
  readonly method: string
  /** As it was sent. */
  readonly target: string
  /** Of HTTP, as `1.1`. */
  readonly version: string
  /** Names in lower case and values, in turn. */
  readonly headers: readonly string[]
  /**
   * Where the body ends: after so many bytes, or with its last chunk. What is unclear is nothing to read on from: the
   * request is refused, and its connection is of no more use.
   */
  readonly body: number | 'chunked' | 'unclear'
  /** Whether the client wants to use its connection again. */
  readonly isPersistent: boolean
  /** Whether the client holds its body back until it is told to continue (RFC 9110, section 10.1.1). */
  readonly expectsContinue: boolean
}

const methods: ReadonlySet<string> = new Set(METHODS)
const requestLine = /^([A-Z-]+) ([\x21-\x7e]+) HTTP\/([0-9]\.[0-9])$/
/**
 * The forms of a target that lead anywhere (RFC 9112, section 3.2). Of an absolute target two readers find two hosts;
 * that of CONNECT is of another form, and every such request is refused.
 */
const targetForm = /^[/*]/
/** One reader takes the tab for a blank (RFC 9112, section 5), another for a part of the value, or for a fault. */
const framingWithTab = /\r\n(?:content-length|transfer-encoding):[^\r]*\t/i
/** Of a request line that has not come whole. */
const beginning =
  /^[A-Z-]{1,32}(?: (?:[\x21-\x7e]+(?: (?:H(?:T(?:T(?:P(?:\/(?:[0-9](?:\.[0-9]?)?)?)?)?)?)?)?)?)?)?\r?$/

/**
 * Reads the head of a request, without the empty line at its end, by RFC 9112. Throws NoRequest for everything that is
 * not exactly as it should be: what one reader takes for the end of a request another may not.
 */
export function readRequestHead(text: string): RequestHead {
  if (!headGrammar.test(text)) throw malformed('the head holds characters that it may not')
  if (text.includes('\t') && framingWithTab.test(text))
    throw malformed('there is a tab in the content-length or transfer-encoding')
  const found = text.indexOf('\r\n')
  const lineEnd = found === -1 ? text.length : found
  const { method, target, version } = readRequestLine(text.slice(0, lineEnd))
  const headers = readHeaderFields(text, lineEnd + 2, (has) => malformed(`the request has ${has}`))
  const { body, isPersistent, expectsContinue } = meaningOf(version, headers)
  // To spread the parts into one took longer than to read them: it grew member by member.
  return { method, target, version, headers, body, isPersistent, expectsContinue }
}

/**
 * Throws NoRequest where no head begins with that line, or with what there is of it: it ends with `\r\n` where it is
 * whole.
 */
export function assertBeginsHead(line: string): void {
  if (line.endsWith('\r\n')) readRequestLine(line.slice(0, -2))
  else if (!beginning.test(line)) throw noRequestLine()
}

function readRequestLine(line: string): Pick<RequestHead, 'method' | 'target' | 'version'> {
  const match = requestLine.exec(line)
  if (match === null) throw noRequestLine()
  const [, method = '', target = '', version = ''] = match
  if (!methods.has(method)) throw malformed('the method is none of HTTP')
  if (method !== 'CONNECT' && !targetForm.test(target)) throw malformed('the target is no path')
  return { method, target, version }
}

function noRequestLine(): Error {
  return malformed('the head does not begin with a request line')
}

type Meaning = Pick<RequestHead, 'body' | 'isPersistent' | 'expectsContinue'>

function meaningOf(version: string, headers: readonly string[]): Meaning {
  let length: string | undefined
  let coding: string | undefined
  let connection = ''
  let expectsContinue = false
  for (let index = 0; index < headers.length; index += 2) {
    const value = headers[index + 1] ?? ''
    switch (headers[index] ?? '') {
      case 'content-length':
        if (length !== undefined || !lengthGrammar.test(value))
          throw malformed('the content-length is unclear')
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
  // Of other versions than these nobody knows where a request ends.
  const isKnown = version === '1.1' || (version === '1.0' && coding === undefined)
  const isUnclear = !isKnown || (coding !== undefined && coding !== 'chunked')
  const body = isUnclear ? 'unclear' : coding === undefined ? Number(length ?? 0) : 'chunked'
  return { body, isPersistent: !isUnclear && staysOpen(version, connection), expectsContinue }
}

/** Whether the connection outlives the request (RFC 9112, section 9.3): all its headers are one list. */
function staysOpen(version: string, connection: string): boolean {
  if (connection === '') return version === '1.1'
  const options = connection.split(',').map((option) => option.trim().toLowerCase())
  return !options.includes('close') && (version === '1.1' || options.includes('keep-alive'))
}
