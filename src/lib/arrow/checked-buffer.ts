import { ByteBuffer, type Table } from 'flatbuffers'

/**
 * A FlatBuffers buffer for generated code that reads untrusted input. Any access outside of the bytes, and any vector
 * whose claimed length does not fit, throws RangeError; `ByteBuffer` reads zeros there and trusts every length. Vtable
 * offsets and sizes are unsigned, as the format requires, so that all readers find the same fields.
 */
export class CheckedBuffer extends ByteBuffer {
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    super(bytes)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  override readUint8(offset: number): number {
    return this.#view.getUint8(offset)
  }

  override readUint16(offset: number): number {
    return this.#view.getUint16(offset, true)
  }

  override readInt32(offset: number): number {
    return this.#view.getInt32(offset, true)
  }

  override readInt64(offset: number): bigint {
    return this.#view.getBigInt64(offset, true)
  }

  override __offset(table: number, slot: number): number {
    const vtable = table - this.readInt32(table)
    return slot + 2 <= this.readUint16(vtable) ? this.readUint16(vtable + slot) : 0
  }

  override __indirect(offset: number): number {
    const target = offset + this.readUint32(offset)
    this.#assertWithin(target + 4)
    return target
  }

  override __union(table: Table, offset: number): Table {
    table.bb_pos = this.__indirect(offset)
    table.bb = this
    return table
  }

  override __string(offset: number): string {
    const start = this.__indirect(offset) + 4
    const length = this.readUint32(start - 4)
    this.#assertWithin(start + length)
    // TextDecoder would drop a byte order mark and make two names equal.
    return Buffer.from(this.#view.buffer, this.#view.byteOffset + start, length).toString()
  }

  override __vector(offset: number): number {
    return this.__indirect(offset) + 4
  }

  override __vector_len(offset: number): number {
    const start = this.__vector(offset)
    const length = this.readUint32(start - 4)
    // No element of an Arrow message is smaller than an offset.
    this.#assertWithin(start + 4 * length)
    return length
  }

  #assertWithin(end: number): void {
    if (end > this.#view.byteLength) throw new RangeError('the message points outside of itself')
  }
}
