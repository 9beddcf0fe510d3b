/** A field of a message with a number as its value. */
export function numberField(number: number, value: number): Buffer {
  return Buffer.from([...varint(number * 8), ...varint(value)])
}

/** A field of a message with text, bytes or another message as its value. */
export function bytesField(number: number, value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes])
}

/** Base 128, the lowest digits first; for integers from 0 to 2^53 - 1. */
function varint(value: number): number[] {
  const digits: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) digits.push((rest % 128) + 128)
  return [...digits, rest]
}
