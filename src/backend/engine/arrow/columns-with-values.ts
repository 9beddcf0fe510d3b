import { Type } from 'apache-arrow/fb/type'
import { type ArrowField, readSchema } from 'catalog-gateway/lib'
import { readFrames, readWithin } from './arrow-frames.ts'

/** The number of a column's first node in each record batch, and its field. */
type ColumnNode = readonly [node: number, field: ArrowField]

/**
 * Returns the columns of a complete Arrow IPC stream that have a value other than null, by the counts in the headers of
 * its record batches. Throws InvalidInput for a malformed stream.
 */
export function findColumnsWithValues(stream: Uint8Array): ReadonlySet<string> {
  const found = new Set<string>()
  let columns: readonly ColumnNode[] = []
  for (const { kind, header, bytes, metadata } of readFrames(stream)) {
    readWithin(bytes.byteOffset - stream.byteOffset, () => {
      if (kind === 'schema') columns = numberNodes(readSchema(header, metadata.length).fields)
      if (kind !== 'batch') return
      for (const [index, { name, type }] of columns) {
        const node = header.nodes(index)
        if (type.id !== Type.Null && node !== null && node.nullCount() < node.length()) found.add(name)
      }
    })
  }
  return found
}

/** Nodes are in depth-first order of the fields. */
function numberNodes(fields: readonly ArrowField[]): ColumnNode[] {
  let next = 0
  return fields.map((field) => {
    const first = next
    next += countNodes(field)
    return [first, field]
  })
}

/** The children of a dictionary column are in its dictionary. */
function countNodes({ children, indexType }: ArrowField): number {
  if (indexType !== undefined) return 1
  return children.reduce((count, child) => count + countNodes(child), 1)
}
