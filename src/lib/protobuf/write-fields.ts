/** A field of a message with a number as its value. */
export function encodeNumberField(number: number, value: number): Buffer {
  return Buffer.from([...encodeVarint(number * 8), ...encodeVarint(value)])
}

/** A field of a message with text, bytes or another message as its value. */
export function encodeBytesField(number: number, value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([...encodeVarint(number * 8 + 2), ...encodeVarint(bytes.length)]), bytes])
}

/** Base 128, the lowest digits first; for integers from 0 to 2^53 - 1. */
function encodeVarint(value: number): number[] {
  const digits: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) digits.push((rest % 128) + 128)
  return [...digits, rest]
}
