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
