import fc from 'fast-check'
import { isIPv4, isIPv6 } from 'node:net'
import { expect, it } from 'vitest'
import { parseProxyHeader } from '../../src/listener/proxy-header.ts'
import { RequestError } from '../../src/http1/server/request-error.ts'
import { binaryHeader, tlv, type WrittenBinaryHeader } from '../support/proxy-protocol.ts'
import { isThorough } from '../support/thorough.ts'

type Parsed = ReturnType<typeof parseProxyHeader> | 'refused'

function parse(bytes: Buffer): Parsed {
  try {
    return parseProxyHeader(bytes)
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    return 'refused'
  }
}

const text = (line: string): Buffer => Buffer.from(line, 'latin1')

it.each<[string, string | undefined]>([
  ['PROXY TCP4 203.0.113.7 10.0.0.1 56324 443\r\n', '203.0.113.7'],
  ['PROXY TCP4 203.0.113.7 10.0.0.1 0 65535\r\n', '203.0.113.7'],
  ['PROXY TCP6 2001:DB8::0:7 2001:db8::1 56324 443\r\n', '2001:db8::7'],
  ['PROXY TCP6 ::ffff:203.0.113.7 ::1 56324 443\r\n', '203.0.113.7'],
  ['PROXY TCP6 ::ffff:cb00:7107 ::1 56324 443\r\n', '203.0.113.7'],
  ['PROXY UNKNOWN\r\n', 'unknown'],
  ['PROXY UNKNOWN 203.0.113.7 10.0.0.1 56324 443\r\n', 'unknown'],
  [`PROXY UNKNOWN ${'f'.repeat(91)}\r\n`, 'unknown'],
])('reads version 1: %j', (line, client) => {
  expect(parse(text(`${line}GET / HTTP/1.1`))).toEqual({ length: line.length, client })
})

it.each([
  'GET / HTTP/1.1\r\n',
  'proxy TCP4 203.0.113.7 10.0.0.1 1 2\r\n',
  'PROXY  TCP4 203.0.113.7 10.0.0.1 1 2\r\n',
  'PROXY TCP5 203.0.113.7 10.0.0.1 1 2\r\n',
  'PROXY TCP4 203.0.113.7 10.0.0.1 1\r\n',
  'PROXY TCP4 203.0.113.7 10.0.0.1 1 2 \r\n',
  'PROXY TCP4 203.0.113.256 10.0.0.1 1 2\r\n',
  'PROXY TCP4 2001:db8::1 10.0.0.1 1 2\r\n',
  'PROXY TCP6 203.0.113.7 10.0.0.1 1 2\r\n',
  'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n',
  'PROXY TCP4 203.0.113.7 10.0.0.1 65536 2\r\n',
  'PROXY TCP4 203.0.113.7 10.0.0.1 01 2\r\n',
  'PROXY TCP4 203.0.113.7 10.0.0.1 +1 2\r\n',
  'PROXY TCP4 203.0.113.7 10.0.0.1 1 2\n\r\n',
  'PROXY\r\n',
  'PROXY UNKNOWNS\r\n',
  `PROXY UNKNOWN ${'f'.repeat(92)}\r\n`,
])('refuses version 1: %j', (line) => {
  expect(parse(text(line))).toBe('refused')
})

it('refuses a line of version 1 as soon as it is too long', () => {
  const long = text(`PROXY UNKNOWN ${'f'.repeat(200)}`)
  expect(parse(long.subarray(0, 106))).toBeUndefined()
  expect(parse(long.subarray(0, 107))).toBe('refused')
})

it.each<[string, WrittenBinaryHeader, string | undefined]>([
  ['IPv4', { family: 0x11, addresses: [203, 0, 113, 7, 10, 0, 0, 1, 1, 2, 3, 4] }, '203.0.113.7'],
  ['IPv6', { family: 0x21, addresses: [0x20, 1, 0xd, 0xb8, ...Array<number>(32).fill(0)] }, '2001:db8::'],
  [
    'an IPv4-mapped address',
    {
      family: 0x21,
      addresses: [...Array<number>(10).fill(0), 255, 255, 203, 0, 113, 7, ...Array<number>(20)],
    },
    '203.0.113.7',
  ],
  ['a UNIX socket', { family: 0x31, addresses: Array<number>(216).fill(65) }, 'unknown'],
  ['no address', { family: 0, addresses: [] }, 'unknown'],
  ['LOCAL', { command: 0x20, family: 0, addresses: [] }, undefined],
  ['LOCAL with any family', { command: 0x20, family: 0x77, addresses: [1, 2, 3] }, undefined],
  [
    'TLVs',
    { family: 0, addresses: [], rest: Buffer.concat([tlv(1, 'h2'), tlv(4, ''), tlv(0xe0, 'x')]) },
    'unknown',
  ],
])('reads version 2: %s', (_label, written, client) => {
  const bytes = binaryHeader(written)
  expect(parse(Buffer.concat([bytes, text('GET')]))).toEqual({ length: bytes.length, client })
})

const ipv4 = { family: 0x11, addresses: [203, 0, 113, 7, 10, 0, 0, 1, 1, 2, 3, 4] }

it.each<[string, WrittenBinaryHeader]>([
  ['version 1 in the binary form', { ...ipv4, command: 0x11 }],
  ['an unknown command', { ...ipv4, command: 0x22 }],
  ['UDP', { ...ipv4, family: 0x12 }],
  ['addresses cut short', { ...ipv4, addresses: ipv4.addresses.slice(1) }],
  ['a UNIX socket cut short', { family: 0x31, addresses: Array<number>(215).fill(65) }],
  ['a TLV without a length', { ...ipv4, rest: Buffer.from([1, 0]) }],
  ['a TLV that exceeds the header', { ...ipv4, rest: Buffer.from([1, 0, 2, 65]) }],
  ['a TLV of 65,535 bytes', { ...ipv4, rest: Buffer.from([1, 255, 255, 65]) }],
  ['a last TLV that exceeds the header', { ...ipv4, rest: Buffer.concat([tlv(1, 'h2'), Buffer.from([4])]) }],
])('refuses version 2: %s', (_label, written) => {
  expect(parse(binaryHeader(written))).toBe('refused')
})

const headWith = (length: number) => binaryHeader({ ...ipv4, length }).subarray(0, 16)

it('refuses a length over the limit before the bytes arrive', () => {
  expect(parse(headWith(4096))).toBeUndefined()
  expect(parse(headWith(4097))).toBe('refused')
  expect(parse(headWith(65_535))).toBe('refused')
})

/** What the specification says, one rule after the other, over all bytes at once. */
function parseSlowly(bytes: Buffer): Parsed {
  const latin1 = bytes.toString('latin1')
  if (latin1.startsWith('PROXY ')) {
    const [, line] = /^PROXY ([^]{0,99}?)\r\n/.exec(latin1) ?? []
    if (line === undefined) return bytes.length < 107 ? undefined : 'refused'
    const length = line.length + 8
    if (/^UNKNOWN(?: |$)/.test(line)) return { length, client: 'unknown' }
    const [, family, source = '', destination = '', ...ports] =
      /^(TCP4|TCP6) ([^ ]+) ([^ ]+) (\d+) (\d+)$/.exec(line) ?? []
    const isAddress = family === 'TCP4' ? isIPv4 : isIPv6
    const isValid =
      family !== undefined &&
      isAddress(source) &&
      isAddress(destination) &&
      ports.every((port) => String(Number(port)) === port && Number(port) < 65_536)
    return isValid ? { length, client: source } : 'refused'
  }
  const length = 16 + bytes.readUInt16BE(14)
  const rest = [...bytes.subarray(16, length)]
  if (bytes.readUInt8(12) === 0x20) return { length, client: undefined }
  if (bytes.readUInt8(12) !== 0x21) return 'refused'
  const family = bytes.readUInt8(13)
  const size = { 0: 0, 0x11: 12, 0x21: 36, 0x31: 216 }[family]
  if (size === undefined || rest.length < size) return 'refused'
  const address = rest.splice(0, size)
  while (rest.length > 0) {
    if (rest.length < 3) return 'refused'
    const [, high = 0, low = 0] = rest.splice(0, 3)
    if (rest.splice(0, high * 256 + low).length < high * 256 + low) return 'refused'
  }
  return { length, client: family === 0x11 ? address.slice(0, 4).join('.') : 'unknown' }
}

const number = (max: number) => fc.integer({ min: 0, max })
const written = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('TCP4', 'TCP6', 'UNKNOWN', 'TCP', ''),
      fc.constantFrom('1.2.3.4', '::1', '1.2.3', ''),
      fc.constantFrom('5.6.7.8', '2001:db8::1', 'x'),
      fc.oneof(number(70_000).map(String), fc.constantFrom('', '-1', '007')),
      fc.constantFrom('1', '443', '65536'),
      fc.constantFrom('\r\n', '\r\n', '\n', ' \r\n', `${' '.repeat(90)}\r\n`),
    )
    .map(([family, ...fields]) => text(`PROXY ${family} ${fields.slice(0, 4).join(' ')}${fields[4]}`)),
  fc
    .record({
      command: fc.constantFrom(0x20, 0x21, 0x21, 0x21, 0x22, 0x11),
      // Formatting IPv6 is covered above.
      family: fc.constantFrom(0, 0x11, 0x11, 0x31, 0x12, 0x41),
      addresses: fc.array(number(255), { minLength: 0, maxLength: 20 }),
      rest: fc
        .array(fc.tuple(number(255), fc.string({ maxLength: 5 })), { maxLength: 4 })
        .map((all) => Buffer.concat(all.map(([type, value]) => tlv(type, value)))),
    })
    .map(binaryHeader),
)

it('agrees with a slow parser, and needs all bytes of a header and no others, split anywhere', () => {
  const property = fc.property(written, fc.uint8Array({ maxLength: 3 }), (header, after) => {
    const bytes = Buffer.concat([header, after])
    const expected = parseSlowly(bytes)
    expect(parse(bytes)).toEqual(expected)
    for (let length = 0; length < header.length; length += 1) {
      const early = parse(header.subarray(0, length))
      // A header that is refused may be refused early, and never turns valid.
      if (early !== undefined) expect(early).toEqual(expected)
      if (expected !== 'refused' && length < (expected?.length ?? Infinity)) expect(early).toBeUndefined()
    }
  })
  fc.assert(property, { numRuns: isThorough ? 20_000 : 165 })
})
