/**
 * A table of a FlatBuffers message, read in place. Every read is checked against the end of the buffer: what
 * points outside throws a RangeError.
 */
export interface FlatTable {
  readonly view: DataView
  readonly position: number
}

/** The root table of a message. */
export function rootTable(bytes: Uint8Array): FlatTable {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { view, position: view.getUint32(0, true) }
}

/** Where the field lies in the buffer; 0 when it is absent, which stands for its default. */
function fieldPosition({ view, position }: FlatTable, field: number): number {
  const vtable = position - view.getInt32(position, true)
  const slot = 4 + 2 * field
  if (slot + 2 > view.getUint16(vtable, true)) return 0
  const offset = view.getUint16(vtable + slot, true)
  return offset === 0 ? 0 : position + offset
}

/** Follows the offset that is stored in the field. */
function target({ view }: FlatTable, position: number): number {
  return position + view.getUint32(position, true)
}

/** A field of type `bool`. */
export function boolField(table: FlatTable, field: number): boolean {
  return uint8Field(table, field) !== 0
}

/** A field of one unsigned byte: an enumeration or the type of a union. */
export function uint8Field(table: FlatTable, field: number): number {
  const position = fieldPosition(table, field)
  return position === 0 ? 0 : table.view.getUint8(position)
}

/** A field of type `short`; the default is what the definition of the message says. */
export function int16Field(table: FlatTable, field: number, absent = 0): number {
  const position = fieldPosition(table, field)
  return position === 0 ? absent : table.view.getInt16(position, true)
}

/** A field of type `int`. */
export function int32Field(table: FlatTable, field: number, absent = 0): number {
  const position = fieldPosition(table, field)
  return position === 0 ? absent : table.view.getInt32(position, true)
}

/** A field of type `long`; beyond 2^53 it is not exact. */
export function int64Field(table: FlatTable, field: number): number {
  const position = fieldPosition(table, field)
  return position === 0 ? 0 : Number(table.view.getBigInt64(position, true))
}

/** A table or a union member that the field points to. */
export function tableField(table: FlatTable, field: number): FlatTable | undefined {
  const position = fieldPosition(table, field)
  if (position === 0) return undefined
  const inner = target(table, position)
  if (inner + 4 > table.view.byteLength) throw new RangeError('a table lies outside of the message')
  return { view: table.view, position: inner }
}

/** A string that the field points to. */
export function stringField(table: FlatTable, field: number): string | undefined {
  const position = fieldPosition(table, field)
  if (position === 0) return undefined
  const { view } = table
  const start = target(table, position)
  const length = view.getUint32(start, true)
  if (start + 4 + length > view.byteLength) throw new RangeError('a string ends outside of the message')
  return Buffer.from(view.buffer, view.byteOffset + start + 4, length).toString()
}

/** A vector of structs: where the first one lies and how many there are, all of them inside of the buffer. */
export function structVector(
  table: FlatTable,
  field: number,
  structSize: number,
): { start: number; length: number } {
  const position = fieldPosition(table, field)
  if (position === 0) return { start: 0, length: 0 }
  const vector = target(table, position)
  const length = table.view.getUint32(vector, true)
  const start = vector + 4
  if (start + length * structSize > table.view.byteLength)
    throw new RangeError('a vector ends outside of the message')
  return { start, length }
}

/** The tables of a vector of tables. */
export function tableVector(table: FlatTable, field: number): FlatTable[] {
  const { start, length } = structVector(table, field, 4)
  return Array.from({ length }, (_, index) => {
    const position = start + 4 * index
    return { view: table.view, position: target(table, position) }
  })
}
