/** A field as the attacker writes it, or as it was received; text is latin1. */
export type Field = readonly [name: string, value: string]

/** A block of literals that no table retains (RFC 7541, section 6.2.2), with whatever they contain. */
export function encodeFields(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.of(0), ...[name, value].flatMap(encodeString)]),
  )
}

function encodeString(text: string): Buffer[] {
  return [encodeLength(text.length), Buffer.from(text, 'latin1')]
}

/** An integer with a prefix of seven bits (RFC 7541, section 5.1). */
function encodeLength(length: number): Buffer {
  if (length < 127) return Buffer.of(length)
  const bytes = [127]
  let rest = length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

/** Reads a block of a peer that was told to use no dynamic table (SETTINGS_HEADER_TABLE_SIZE 0). */
export function decodeFields(block: Buffer): Field[] {
  const reader = new BlockReader(block)
  const fields: Field[] = []
  while (!reader.isAtEnd) {
    const first = reader.peek()
    if (first >= 0b1000_0000) fields.push(staticField(reader.readInteger(7)))
    else if (first >= 0b0010_0000 && first < 0b0100_0000) reader.readInteger(5)
    else {
      // A literal, indexed or not: the table has no room for it.
      const index = reader.readInteger(first >= 0b0100_0000 ? 6 : 4)
      const name = index === 0 ? reader.readString() : staticField(index)[0]
      fields.push([name, reader.readString()])
    }
  }
  return fields
}

class BlockReader {
  readonly #block: Buffer
  #at = 0

  constructor(block: Buffer) {
    this.#block = block
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#block.length
  }

  peek(): number {
    return this.#block.readUInt8(this.#at)
  }

  readInteger(prefixBits: number): number {
    const max = 2 ** prefixBits - 1
    let value = this.#readByte() % (max + 1)
    if (value < max) return value
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#readByte()
      value += (byte % 128) * scale
      if (byte < 128) return value
    }
  }

  readString(): string {
    const isCompressed = this.peek() >= 128
    const length = this.readInteger(7)
    const bytes = this.#block.subarray(this.#at, this.#at + length)
    if (bytes.length < length) throw new Error('a string exceeds its block')
    this.#at += length
    return isCompressed ? decodeHuffman(bytes) : bytes.toString('latin1')
  }

  #readByte(): number {
    this.#at += 1
    return this.#block.readUInt8(this.#at - 1)
  }
}

/**
 * Printable characters by the length of their code (RFC 7541, appendix B). The code is canonical: among codes of one
 * length, those of lower characters come first. NUL is there for those behind it.
 */
const charactersByLength: readonly (readonly [bits: number, characters: string])[] = [
  [5, '012aceiost'],
  [6, ' %-./3456789=A_bdfghlmnpru'],
  [7, ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz'],
  [8, '&*,;XZ'],
  [10, '!"()?'],
  [11, "'+|"],
  [12, '#>'],
  [13, '\0$@[]~'],
  [14, '^}'],
  [15, '<`{'],
  [19, '\\'],
]

const charactersByCode = createHuffmanCode()

function createHuffmanCode(): ReadonlyMap<string, string> {
  const characters = new Map<string, string>()
  let next = 0
  let length = 0
  for (const [bits, ofLength] of charactersByLength) {
    next *= 2 ** (bits - length)
    length = bits
    for (const character of ofLength) {
      characters.set(next.toString(2).padStart(bits, '0'), character)
      next += 1
    }
  }
  return characters
}

function decodeHuffman(bytes: Buffer): string {
  let text = ''
  let code = ''
  for (const bit of [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')) {
    code += bit
    const character = charactersByCode.get(code)
    if (character === undefined) continue
    text += character
    code = ''
  }
  // The rest is padding of less than a byte.
  if (!/^1{0,7}$/.test(code)) throw new Error(`unknown characters behind ${JSON.stringify(text)}`)
  return text
}

function staticField(index: number): Field {
  const field = staticTable[index - 1]
  if (field === undefined) throw new Error(`there is no field ${index} in the static table`)
  return field
}

/** RFC 7541, appendix A. */
const staticTable: readonly Field[] = `
:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`
  .trim()
  .split('\n')
  .map((line): Field => {
    const [name = '', ...value] = line.split(' ')
    return [name, value.join(' ')]
  })
