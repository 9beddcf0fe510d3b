import fc from 'fast-check'
import { capacityOfAWhole } from '../../support/unit-interval.ts'
import { writtenRequest } from './written-requests.ts'

/** Bytes that parsers treat differently. */
const odd = oneOfThese(
  '\0|\t|\n|\r|\r\n|\x0b|\x0c| |"|,|:|;|=|+|-|0|a|g|X|\x7f|\x80|\x85|\xa0|\xff|0x|\r\n |\n\n|\r\r\n|\r\n\r\n',
)
const nameOfFraming = oneOfThese(
  'Content-Length|content-length|Transfer-Encoding|transfer-encoding|transfer_encoding|Connection|Expect|Upgrade|TE|' +
    'Content-Length | Transfer-Encoding',
)
const valueOfFraming = oneOfThese(
  '0|1|3|03|+3|-3|3 3|3, 3|3,|0x3|3;|| |\t3\t|3\x0b|1e1|99999999999999999999|18446744073709551617|' +
    'chunked|Chunked|CHUNKED| chunked |chunked,|,chunked|chunked, chunked|gzip, chunked|chunked, gzip|chunked;a=b|' +
    '"chunked"|xchunked|chunked\x0b|\x0bchunked|identity|chun ked|' +
    'close|keep-alive|close, keep-alive|Keep-Alive,Close|upgrade|closed|websocket|h2c|100-continue|200-ok',
)
const framingLine = fc
  .tuple(
    nameOfFraming,
    oneOfThese(':|: | :|:\t|:\r\n |'),
    valueOfFraming,
    oneOfThese('\r\n|\r\n|\r\n|\n|\r|\r\r\n'),
  )
  .map((parts) => parts.join(''))
const size = oneOfThese(
  '0|00|1|3| 3|3 |3\t|3 ;a|3;|3;;|3;a="\\"|3;a=b;c|0x3|+3|-3|g||' +
    'ffffffffffffffff|10000000000000003|00000000000000000003|3\x0b|3,|3;\xff',
)
const extension = fc
  .string({
    unit: fc.constantFrom(...';;;;==""\\\\ab1 \t,:(/\x7f\x80\xff\0\r\n'.split('')),
    minLength: 1,
    maxLength: 10,
  })
  .map((text) => `;${text}`)
const oddTarget = fc.oneof(
  oneOfThese(
    '*|*a|a|http://h/|https://h|http:/h|http://|ftp://u:p@h/x|h:1|//h/|/#f|/a#?b|/?#|/\xc3\xa9|/\xe9|/a?\xff|/\x80|' +
      '/\x7f|/"<>\\^`{}|/%|/%zz|?a|#|/\t|/\x0b|/\x0c|/;a=b|/..//.',
  ),
  fc.string({
    unit: oneOfThese('/|a|:|#|?|*|@|[|]|%|\\|"|<|^|\x80|\xe9|\x7f|\t|h'),
    minLength: 1,
    maxLength: 6,
  }),
)
const trailer = fc
  .tuple(
    oneOfThese('a|Connection|Upgrade|Expect|Host|Proxy-Connection|Keep-Alive|Trailer|TE|Content-Type|a b|'),
    oneOfThese(':|: |::|'),
    oneOfThese('|a|close|keep-alive|upgrade|websocket|chunked|\xe9|\t| a|\x7f|100-continue'),
    oneOfThese('\r\n|\r\n|\r\n|\n'),
  )
  .map((parts) => parts.join(''))
const version = oneOfThese(
  'HTTP/1.0|HTTP/0.9|HTTP/2.0|HTTP/1.2|HTTP/1.10|http/1.1|HTTP/1,1| HTTP/1.1|ICE/1.0|',
)
const someMethod = oneOfThese('get|PRI|FOO|CONNECT|GETX|G||DESCRIBE|SOURCE')

type Change = (text: string) => string

function at(location: number, change: (text: string, position: number) => string): Change {
  return (text) => change(text, Math.floor(location * (text.length + 1)))
}

function oneOfThese(texts: string): fc.Arbitrary<string> {
  return fc.constantFrom(...texts.split('|'))
}

function oneOf(pattern: RegExp, location: number, replacement: (context: string) => string): Change {
  return (text) => {
    const found = [...text.matchAll(pattern)]
    const match = found[Math.floor(location * found.length)]
    if (match === undefined) return text
    return text.slice(0, match.index) + replacement(match[0]) + text.slice(match.index + match[0].length)
  }
}

const change: fc.Arbitrary<Change> = fc.oneof(
  fc
    .tuple(capacityOfAWhole, odd)
    .map(([location, bytes]) =>
      at(location, (text, position) => text.slice(0, position) + bytes + text.slice(position)),
    ),
  fc
    .tuple(capacityOfAWhole, odd)
    .map(([location, bytes]) =>
      at(location, (text, position) => text.slice(0, position) + bytes + text.slice(position + 1)),
    ),
  fc
    .tuple(capacityOfAWhole, fc.integer({ min: 1, max: 4 }))
    .map(([location, count]) =>
      at(location, (text, position) => text.slice(0, position) + text.slice(position + count)),
    ),
  capacityOfAWhole.map((location) => at(location, (text, position) => text.slice(0, position))),
  fc
    .tuple(
      capacityOfAWhole,
      fc.constantFrom('\n', '\r', '\r\r\n', '\r\n\n', '\r\n\r\n', '\r\n ', '\r\n\t', ''),
    )
    .map(([location, end]) => oneOf(/\r\n/g, location, () => end)),
  fc
    .tuple(capacityOfAWhole, odd)
    .map(([location, bytes]) => oneOf(/[:;,= ]/g, location, (mark) => mark + bytes)),
  fc
    .tuple(capacityOfAWhole, odd)
    .map(([location, bytes]) => oneOf(/[:;,= ]/g, location, (mark) => bytes + mark)),
  fc
    .tuple(capacityOfAWhole, framingLine)
    .map(([location, line]) => oneOf(/host: g\r\n/g, location, (host) => host + line)),
  fc
    .tuple(capacityOfAWhole, valueOfFraming, fc.boolean())
    .map(([location, value, isRetained]) =>
      oneOf(
        /(content-length|transfer-encoding): [^\r]*\r\n/g,
        location,
        (line) => (isRetained ? line : '') + `${line.slice(0, line.indexOf(':'))}: ${value}\r\n`,
      ),
    ),
  fc
    .tuple(
      capacityOfAWhole,
      oneOfThese('content-length: 0|content-length: 3|transfer-encoding: chunked'),
      fc.boolean(),
    )
    .map(([location, other, isBehind]) =>
      oneOf(/(?:content-length|transfer-encoding): [^\r]*\r\n/g, location, (line) =>
        isBehind ? `${line}${other}\r\n` : `${other}\r\n${line}`,
      ),
    ),
  fc
    .tuple(capacityOfAWhole, size)
    .map(([location, other]) => oneOf(/(?<=\r\n)[0-9a-f]{1,2}(?=[;\r])/g, location, () => other)),
  fc
    .tuple(capacityOfAWhole, extension)
    .map(([location, other]) => oneOf(/(?<=\r\n[0-9a-f]{1,2})(?:;[^\r]*)?(?=\r)/g, location, () => other)),
  fc
    .tuple(capacityOfAWhole, oddTarget)
    .map(([location, other]) => oneOf(/(?<=[A-Z] )\/[^ ]*(?= HTTP)/g, location, () => other)),
  fc
    .tuple(capacityOfAWhole, trailer)
    .map(([location, line]) => oneOf(/(?<=\r\n0(?:;[^\r]*)?\r\n)/g, location, () => line)),
  fc.tuple(capacityOfAWhole, version).map(([location, other]) => oneOf(/HTTP\/1\.1/g, location, () => other)),
  fc
    .tuple(capacityOfAWhole, someMethod)
    .map(([location, other]) => oneOf(/[A-Z-]+(?= \/)/g, location, () => other)),
)

/** Pipelined valid requests with one change, in latin1. */
export const oddRequests: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(writtenRequest, { minLength: 1, maxLength: 3 }),
    fc.array(change, { minLength: 1, maxLength: 3 }),
  )
  .map(([requests, changes]) =>
    changes.reduce((text, apply) => apply(text), requests.map(({ bytes }) => bytes).join('')),
  )
