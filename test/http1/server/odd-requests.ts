import fc from 'fast-check'
import { unitInterval } from '../../support/unit-interval.ts'
import { writtenRequest } from './written-requests.ts'

/** Bytes that parsers treat differently. */
const odd = oneOfThese(
  '\0|\t|\n|\r|\r\n|\x0b|\x0c| |"|,|:|;|=|+|-|0|a|g|X|\x7f|\x80|\x85|\xa0|\xff|0x|\r\n |\n\n|\r\r\n|\r\n\r\n',
)
const framingName = oneOfThese(
  'Content-Length|content-length|Transfer-Encoding|transfer-encoding|transfer_encoding|Connection|Expect|Upgrade|TE|' +
    'Content-Length | Transfer-Encoding',
)
const framingValue = oneOfThese(
  '0|1|3|03|+3|-3|3 3|3, 3|3,|0x3|3;|| |\t3\t|3\x0b|1e1|99999999999999999999|18446744073709551617|' +
    'chunked|Chunked|CHUNKED| chunked |chunked,|,chunked|chunked, chunked|gzip, chunked|chunked, gzip|chunked;a=b|' +
    '"chunked"|xchunked|chunked\x0b|\x0bchunked|identity|chun ked|' +
    'close|keep-alive|close, keep-alive|Keep-Alive,Close|upgrade|closed|websocket|h2c|100-continue|200-ok',
)
const framingLine = fc
  .tuple(
    framingName,
    oneOfThese(':|: | :|:\t|:\r\n |'),
    framingValue,
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
    '*|*a|a|http://h/|https://h|http://h:1/a?b#c|https://a@h/|http://a:b@h:80/|http://[::1]:1/|http://h?a|http://h:/|http://:@/|http://a.-_~:[]/|HTTP://h/|' +
      'http:/h|http://|ftp://u:p@h/x|h:1|//h/|/#f|/a#?b|/?#|/\xc3\xa9|/\xe9|/a?\xff|/\x80|' +
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

function oneOfThese(texts: string): fc.Arbitrary<string> {
  return fc.constantFrom(...texts.split('|'))
}

/** Stands for the end of the bytes. */
const cutOff = 'cut off'

interface Change {
  readonly pattern: RegExp
  readonly replacement: string
  readonly fraction: number
}

/** Replacements of one match of the pattern; `$&` is the replaced text. */
const edits: readonly (readonly [pattern: RegExp, replacement: fc.Arbitrary<string>])[] = [
  // Anything: odd bytes before or in place of it, some bytes less, or the end.
  [/^|[^]/g, odd.map((bytes) => `${bytes}$&`)],
  [/[^]/g, odd],
  [/[^]{1,4}/g, oneOfThese('')],
  [/(?<=[^])[^]/g, fc.constant(cutOff)],
  [/\r\n/g, fc.constantFrom('\n', '\r', '\r\r\n', '\r\n\n', '\r\n\r\n', '\r\n ', '\r\n\t', '')],
  [/[:;,= ]/g, odd.map((bytes) => `$&${bytes}`)],
  [/[:;,= ]/g, odd.map((bytes) => `${bytes}$&`)],
  [/host: g\r\n/g, framingLine.map((line) => `$&${line}`)],
  // The value of a framing header, or a second one with the same name, before or behind it.
  [/(?<=(?:content-length|transfer-encoding): )[^\r]*/g, framingValue],
  ...['content-length', 'transfer-encoding'].map(
    (name) =>
      [
        new RegExp(`${name}: [^\\r]*\\r\\n`, 'g'),
        framingValue.map((value) => `$&${name}: ${value}\r\n`),
      ] as const,
  ),
  [
    /(?:content-length|transfer-encoding): [^\r]*\r\n/g,
    oneOfThese('content-length: 0|content-length: 3|transfer-encoding: chunked').chain((other) =>
      fc.constantFrom(`$&${other}\r\n`, `${other}\r\n$&`),
    ),
  ],
  [/(?<=\r\n)[0-9a-f]{1,2}(?=[;\r])/g, size],
  [/(?<=\r\n[0-9a-f]{1,2})(?:;[^\r]*)?(?=\r)/g, extension],
  [/(?<=[A-Z] )\/[^ ]*(?= HTTP)/g, oddTarget],
  [/(?<=\r\n0(?:;[^\r]*)?\r\n)/g, trailer],
  [/HTTP\/1\.1/g, version],
  [/[A-Z-]+(?= \/)/g, someMethod],
]

const change = fc.oneof(
  ...edits.map(([pattern, replacement]) =>
    fc.record({ pattern: fc.constant(pattern), replacement, fraction: unitInterval }),
  ),
)

function applyChange(text: string, { pattern, replacement, fraction }: Change): string {
  const found = [...text.matchAll(pattern)]
  const match = found[Math.floor(fraction * found.length)]
  if (match === undefined) return text
  const [there] = match
  if (replacement === cutOff) return text.slice(0, match.index)
  return (
    text.slice(0, match.index) +
    replacement.replace('$&', () => there) +
    text.slice(match.index + there.length)
  )
}

/** Pipelined valid requests with one change, in latin1. */
export const oddRequests: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(writtenRequest, { minLength: 1, maxLength: 3 }),
    fc.array(change, { minLength: 1, maxLength: 3 }),
  )
  .map(([requests, changes]) => changes.reduce(applyChange, requests.map(({ bytes }) => bytes).join('')))
