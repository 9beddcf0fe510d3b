export interface ProtobufField {
  readonly number: number
  readonly value: bigint | Buffer
  /** The encoded field: tag and value. */
  readonly raw: Buffer
}

const varintWire = 0
const bytesWire = 2
/** The bytes of the other wire types: fixed64 and fixed32. */
const fixedSizes = new Map([
  [1, 8],
  [5, 4],
])

/** Reads the fields of a protobuf message in order. Throws RangeError if the message is malformed. */
export function readFields(message: Buffer): readonly ProtobufField[] {
  const fields: ProtobufField[] = []
  let position = 0
  while (position < message.length) {
    const key = readVarint(message, position)
    const wire = Number(key.value & 7n)
    const { value, end } =
      wire === varintWire ? readVarint(message, key.end) : readBytes(message, wire, key.end)
    fields.push({ number: Number(key.value >> 3n), value, raw: message.subarray(position, end) })
    position = end
  }
  return fields
}

/** The last field with that number wins. Throws a RangeError for other types and for unsafe integers. */
export function findNumber(fields: readonly ProtobufField[], number: number): number | undefined {
  const value = fields.findLast((field) => field.number === number)?.value
  if (value === undefined) return undefined
  const found = Number(value)
  if (typeof value !== 'bigint' || !Number.isSafeInteger(found)) throw new RangeError('not a safe number')
  return found
}

/** Like `findNumber`; empty if there is none. */
export function findText(fields: readonly ProtobufField[], number: number): string {
  const found = fields.findLast((field) => field.number === number)
  return found === undefined ? '' : toBytes(found).toString()
}

/** Throws a RangeError for a number. */
export function toBytes({ value }: ProtobufField): Buffer {
  if (typeof value === 'bigint') throw new RangeError('a number where bytes were expected')
  return value
}

function readBytes(message: Buffer, wire: number, start: number): { value: Buffer; end: number } {
  const length = wire === bytesWire ? readVarint(message, start) : { end: start, value: fixedSizes.get(wire) }
  if (length.value === undefined) throw new RangeError(`unknown protobuf wire type ${wire}`)
  const end = length.end + Number(length.value)
  if (end > message.length) throw new RangeError('a protobuf field ends outside of its message')
  return { value: message.subarray(length.end, end), end }
}

function readVarint(message: Buffer, start: number): { value: bigint; end: number } {
  let value = 0n
  for (let index = 0; index < 10; index++) {
    const byte = message[start + index]
    if (byte === undefined) break
    value |= BigInt(byte & 127) << BigInt(7 * index)
    if (byte < 128) return { value: BigInt.asUintN(64, value), end: start + index + 1 }
  }
  throw new RangeError('a protobuf number is cut short')
}

/** Encodes fields: a number, or a length-delimited text or nested message. */
export function encodeMessage(...fields: readonly (readonly [number: number, number | string | Buffer])[]) {
  const encoded = fields.map(([number, value]) => {
    if (typeof value === 'number') return Buffer.from([...encodeVarint(number * 8), ...encodeVarint(value)])
    const bytes = Buffer.from(value)
    const prefix = [...encodeVarint(number * 8 + bytesWire), ...encodeVarint(bytes.length)]
    return Buffer.concat([Buffer.from(prefix), bytes])
  })
  return Buffer.concat(encoded)
}

function encodeVarint(value: number): number[] {
  const digits: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) digits.push((rest % 128) + 128)
  return [...digits, rest]
}
