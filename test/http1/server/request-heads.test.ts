import { describe, expect, it } from 'vitest'
import {
  assertRequestLinePrefix,
  createParsedRequestHead,
  parseRequestHead,
} from '../../../src/http1/server/request-head.ts'
import { RequestError } from '../../../src/http1/server/request-error.ts'

function headOf(...lines: readonly string[]): ReturnType<typeof parseRequestHead> {
  return parseRequestHead(lines.join('\r\n'))
}

describe('the head of a request', () => {
  it('is a request line and headers, whose names are in lower case', () => {
    expect(headOf('M-SEARCH /a?b=~ HTTP/1.1', 'Host: \t g \t', 'X-Empty:', 'x: a:\tb\xff')).toEqual({
      method: 'M-SEARCH',
      target: '/a?b=~',
      version: '1.1',
      headers: ['host', 'g', 'x-empty', '', 'x', 'a:\tb\xff'],
      body: 0,
      keepAlive: true,
      expectsContinue: false,
    })
  })

  it('may be a request line alone', () => {
    expect(headOf('GET / HTTP/1.0')).toMatchObject({ headers: [], body: 0, keepAlive: false })
  })

  it.each(['/', '*', 'http://g', 'https://u@g/a'])('may have the target %s', (target) => {
    expect(headOf(`GET ${target} HTTP/1.1`).target).toBe(target)
  })

  it('that another parser has read is refused with an invalid target or value', () => {
    for (const target of ['', ' a:1', 'a:1 ', 'a:\x7f'])
      expect(() => createParsedRequestHead({ method: 'CONNECT', target, version: '1.1' }, [])).toThrow(
        RequestError,
      )
    const root = { method: 'GET', target: '/', version: '1.1' }
    expect(() => createParsedRequestHead(root, ['a', 'b', 'c', 'd\ne'])).toThrow(RequestError)
  })

  it.each([
    ['a method in lower case', 'get / HTTP/1.1'],
    ['an unknown method', 'GETX / HTTP/1.1'],
    ['no method', '/ HTTP/1.1'],
    ['no target', 'GET HTTP/1.1'],
    ['an empty target', 'GET  HTTP/1.1'],
    ['a blank within the target', 'GET /a b HTTP/1.1'],
    ['a blank before it', ' GET / HTTP/1.1'],
    ['a blank behind it', 'GET / HTTP/1.1 '],
    ['two blanks', 'GET  / HTTP/1.1'],
    ['an empty user in the target', 'GET http://@g/ HTTP/1.1'],
    ['a tab in the target', 'GET /\t HTTP/1.1'],
    ['DEL in the target', 'GET /\x7f HTTP/1.1'],
    ['a character beyond ASCII in the target', 'GET /\x80 HTTP/1.1'],
    ['no version', 'GET /'],
    ['a version of two digits', 'GET / HTTP/1.10'],
    ['another protocol', 'GET / ICE/1.0'],
    ['the protocol in lower case', 'GET / http/1.1'],
  ])('is refused with %s in its first line', (_what, line) => {
    expect(() => headOf(line, 'host: g')).toThrow(RequestError)
  })

  it.each([
    ['a NUL', 'x: \0'],
    ['a line feed alone', 'x: a\ny: b'],
    ['a carriage return alone', 'x: a\ry: b'],
    ['DEL', 'x: \x7f'],
    ['a folded line', 'x: a\r\n b'],
    ['a blank before the colon', 'x : a'],
    ['no name', ': a'],
    ['no colon', 'x'],
    ['a tab in a length', 'content-length: 3\t'],
    ['a tab in an encoding', 'Transfer-Encoding:\tchunked'],
    ['two lengths', 'content-length: 3\r\ncontent-length: 3'],
    ['a list of lengths', 'content-length: 3, 3'],
    ['an empty length', 'content-length:'],
    ['a length with a sign', 'content-length: +3'],
    ['a length of sixteen digits', 'content-length: 0000000000000003'],
    ['a length and an encoding', 'content-length: 3\r\ntransfer-encoding: chunked'],
    ['an encoding and a length', 'transfer-encoding: chunked\r\ncontent-length: 0'],
  ])('is refused with %s among its headers', (_what, lines) => {
    expect(() => headOf('GET / HTTP/1.1', 'host: g', ...lines.split('\r\n'))).toThrow(RequestError)
  })

  it('may hold a tab in a header that does not frame the body', () => {
    expect(headOf('GET / HTTP/1.1', 'content-length: 3', 'x: a\tb').body).toBe(3)
    expect(headOf('GET / HTTP/1.1', 'x-content-length: \t3').body).toBe(0)
  })
})

describe('the body of a request', () => {
  it.each([
    ['nothing', '1.1', [], 0],
    ['a length', '1.1', ['Content-Length: 3'], 3],
    ['a length of fifteen digits', '1.1', ['content-length: 000000000000003'], 3],
    ['a length in HTTP/1.0', '1.0', ['content-length: 3'], 3],
    ['chunks', '1.1', ['Transfer-Encoding: Chunked'], 'chunked'],
    ['chunks in HTTP/1.0', '1.0', ['transfer-encoding: chunked'], 'unknown'],
    ['another encoding', '1.1', ['transfer-encoding: gzip'], 'unknown'],
    ['two encodings', '1.1', ['transfer-encoding: gzip, chunked'], 'unknown'],
    ['chunks, said twice', '1.1', ['transfer-encoding: chunked', 'transfer-encoding: chunked'], 'unknown'],
    ['an empty encoding', '1.1', ['transfer-encoding:'], 'unknown'],
    ['another version', '1.2', ['content-length: 3'], 'unknown'],
    ['an older version', '0.9', [], 'unknown'],
  ])('ends as framed by %s', (_what, version, headers, body) => {
    expect(headOf(`POST / HTTP/${version}`, ...headers).body).toBe(body)
  })
})

describe('a connection is reused', () => {
  it.each([
    ['1.1', [], true],
    ['1.1', ['connection: close'], false],
    ['1.1', ['Connection: x, \tClose'], false],
    ['1.1', ['connection: x', 'connection: close', 'connection: y'], false],
    ['1.1', ['connection: keep-alive, close'], false],
    ['1.1', ['connection: keep-alive'], true],
    ['1.1', ['connection: closed'], true],
    ['1.1', ['connection:'], true],
    ['1.0', [], false],
    ['1.0', ['connection: Keep-Alive'], true],
    ['1.0', ['connection: x'], false],
    ['1.0', ['connection: keep-alive, close'], false],
    ['1.2', ['connection: keep-alive'], false],
    ['1.1', ['transfer-encoding: gzip'], false],
  ])('with HTTP/%s and %j: %s', (version, headers, keepAlive) => {
    expect(headOf(`GET / HTTP/${version}`, ...headers).keepAlive).toBe(keepAlive)
  })
})

describe('a client waits for 100 Continue', () => {
  it.each([
    ['1.1', 'Expect: 100-Continue', true],
    ['1.0', 'expect: 100-continue', false],
    ['1.1', 'expect: 200-ok', false],
    ['1.1', 'x: 100-continue', false],
  ])('with HTTP/%s and %s: %s', (version, header, expectsContinue) => {
    expect(headOf(`PUT / HTTP/${version}`, header).expectsContinue).toBe(expectsContinue)
  })
})

describe('an incomplete first line', () => {
  const whole = 'GET /a HTTP/1.1\r\n'
  it.each(Array.from({ length: whole.length }, (_, index) => whole.slice(0, index + 1)))(
    'may be %j',
    (line) => {
      expect(() => assertRequestLinePrefix(line)).not.toThrow()
    },
  )

  it('may have a method of 32 characters', () => {
    expect(() => assertRequestLinePrefix('A'.repeat(32))).not.toThrow()
    expect(() => assertRequestLinePrefix('A'.repeat(33))).toThrow(RequestError)
  })

  it.each([
    '',
    'g',
    ' ',
    '\r',
    'GET\t',
    'GET  ',
    'GET /\0',
    'GET /\x7f',
    'GET /\r\n',
    'GET /  ',
    'GET / h',
    'GET / HTTQ',
    'GET / HTTP/a',
    'GET / HTTP/1a',
    'GET / HTTP/1.a',
    'GET / HTTP/1.1a',
    'GET / HTTP/1.1.',
    'GET / HTTP/1.10',
    'GET / HTTP/1.1 ',
    'GET / HTTP/1.1\rh',
    'GET / HTTP/1.1\n',
    'GET / HTTP/1.1\r\r',
    'GETX / HTTP/1.1\r\n',
    'GET / HTTP/1.10\r\n',
  ])('is refused as %j', (line) => {
    expect(() => assertRequestLinePrefix(line)).toThrow(RequestError)
  })
})
