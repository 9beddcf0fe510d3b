import { Type } from 'apache-arrow/fb/type'
import { type ArrowField, readSchema } from 'catalog-gateway/lib'
import { readFrames } from './arrow-frames.ts'

/**
 * Adds a number to each value of a column of float32, in place, in an Arrow IPC file of the engine. A file without that
 * column stays as it is. Throws a plain error for a compressed file.
 */
export function addToColumn(file: Uint8Array, column: string, amount: number): void {
  let fields: readonly ArrowField[] = []
  for (const { kind, header, bytes, metadata, metadataLength } of readFrames(file)) {
    if (kind === 'schema') fields = readSchema(header, metadata.length).fields
    if (kind !== 'batch') continue
    const position = fields.findIndex(({ name }) => name === column)
    if (position === -1) return
    const isExpected = countBuffers(fields) === header.buffersLength() && header.compression() === null
    // The values follow the bitmap of nulls.
    const values = isExpected ? header.buffers(countBuffers(fields.slice(0, position)) + 1) : null
    if (values === null) throw new Error(`the values of the column ${column} cannot be found`)
    const body = bytes.subarray(metadataLength)
    const view = new DataView(body.buffer, body.byteOffset + Number(values.offset()), Number(values.length()))
    const rows = Number(header.length())
    for (let row = 0; row < rows; row++)
      view.setFloat32(row * 4, view.getFloat32(row * 4, true) + amount, true)
  }
}

function countBuffers(fields: readonly ArrowField[]): number {
  return fields.reduce(
    (count, field) =>
      count + countOwnBuffers(field) + (field.indexType === undefined ? countBuffers(field.children) : 0),
    0,
  )
}

/** See "Buffer Listing for Each Layout" in the Arrow columnar format. */
function countOwnBuffers({ type, indexType }: ArrowField): number {
  if (indexType !== undefined) return 2
  if (type.id === Type.Null) return 0
  if (type.id === Type.Struct_ || type.id === Type.FixedSizeList) return 1
  const hasOffsets = [Type.Utf8, Type.Binary, Type.LargeUtf8, Type.LargeBinary].includes(type.id)
  return hasOffsets ? 3 : 2
}
