/** A header of PROXY protocol, version 2, right or wrong. */
export interface WrittenBinaryHeader {
  /** Version and command; default PROXY of version 2. */
  readonly command?: number
  /** Address family and protocol. */
  readonly family: number
  readonly addresses: readonly number[]
  /** TLVs. */
  readonly rest?: Buffer
  /** Default: that of what follows. */
  readonly length?: number
}

export function binaryHeader({
  command = 0x21,
  family,
  addresses,
  rest = Buffer.alloc(0),
  length = addresses.length + rest.length,
}: WrittenBinaryHeader): Buffer {
  const head = Buffer.from('\r\n\r\n\0\r\nQUIT\n....', 'latin1')
  head.writeUInt8(command, 12)
  head.writeUInt8(family, 13)
  head.writeUInt16BE(length, 14)
  return Buffer.concat([head, Buffer.from(addresses), rest])
}

export function tlv(type: number, value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([type, bytes.length >> 8, bytes.length & 255]), bytes])
}
