import { expect, it } from 'vitest'
import { ResponseParser, type ResponseParserHandler } from '../../../src/http1/client/response-parser.ts'

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`
const large = 'a'.repeat(20_000)

it.each([
  ['chunks', `${chunked}1\r\na\r\n1\r\nb\r\n0\r\n\r\n`],
  ['one chunk', `${chunked}1\r\na\r\n0\r\n\r\n`],
  ['one chunk, and garbage', `${chunked}1\r\na\r\nX`],
  ['a length', `${ok}content-length: ${large.length}\r\n\r\n${large}`],
  ['a length, and garbage', `${ok}content-length: ${large.length}\r\n\r\n${large}X`],
  ['an incomplete length', `${ok}content-length: 2\r\n\r\na`],
  ['neither', 'HTTP/1.1 500 Internal Server Error\r\n\r\na'],
])('a parser of a response with %s that is stopped in `data` calls nothing more', (_what, bytes) => {
  for (const [stopsIn, expected] of [
    ['head', ['head']],
    ['data', ['head', 'data']],
  ] as const) {
    const reported: string[] = []
    const report = (event: string): void => {
      reported.push(event)
      if (event === stopsIn) parser.stop()
    }
    const handler: ResponseParserHandler = {
      onResponseStart: () => report('head'),
      onResponseData: () => report('data'),
      onResponseEnd: () => report('end'),
    }
    const parser = new ResponseParser(handler)
    parser.parse(Buffer.from(bytes))
    parser.parse(Buffer.from('b'))
    parser.finish()
    expect(reported).toEqual(expected)
  }
})
