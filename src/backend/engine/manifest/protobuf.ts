export interface ProtobufField {
  readonly number: number
  readonly value: bigint | Buffer
  /** The encoded field: tag and value. */
  readonly raw: Buffer
}

const varintWire = 0
const fixed64Wire = 1
const bytesWire = 2
const fixed32Wire = 5

/** Reads the fields of a protobuf message in order. Throws RangeError if the message is malformed. */
export function* readFields(message: Buffer): Generator<ProtobufField> {
  let position = 0
  while (position < message.length) {
    const key = readVarint(message, position)
    const wire = Number(key.value & 7n)
    const number = Number(key.value >> 3n)
    if (wire === varintWire) {
      const varint = readVarint(message, key.end)
      yield { number, value: varint.value, raw: message.subarray(position, varint.end) }
      position = varint.end
      continue
    }
    const { start, end } = readBytes(message, wire, key.end)
    if (end > message.length) throw new RangeError('a protobuf field ends outside of its message')
    yield { number, value: message.subarray(start, end), raw: message.subarray(position, end) }
    position = end
  }
}

function readBytes(message: Buffer, wire: number, start: number): { start: number; end: number } {
  if (wire === fixed64Wire) return { start, end: start + 8 }
  if (wire === fixed32Wire) return { start, end: start + 4 }
  if (wire !== bytesWire) throw new RangeError(`unknown protobuf wire type ${wire}`)
  const length = readVarint(message, start)
  return { start: length.end, end: length.end + Number(length.value) }
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

export function encodeNumberField(number: number, value: number): Buffer {
  return Buffer.from([...encodeVarint(number * 8), ...encodeVarint(value)])
}

/** Encodes a length-delimited field: text, bytes or a nested message. */
export function encodeBytesField(number: number, value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([...encodeVarint(number * 8 + 2), ...encodeVarint(bytes.length)]), bytes])
}

function encodeVarint(value: number): number[] {
  const digits: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) digits.push((rest % 128) + 128)
  return [...digits, rest]
}
