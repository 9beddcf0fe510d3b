import { Type } from 'apache-arrow/fb/type'
import type { TableQuery } from '../../schemas/query.ts'
import { type ArrowField, type ArrowSchema, readSchema } from 'catalog-gateway/arrow'
import { readFileSchema, readFrames } from '../arrow/arrow-frames.ts'
import type { NativeTable, NativeTextQueries } from '../native/native-module.ts'
import { findField } from '../schema/fields.ts'
import { toNativeQuery } from './native-query.ts'

/** A search whose distances are all too low by the same number. */
interface CorrectedSearch {
  readonly query: TableQuery
  /** What to add to each distance. */
  readonly distanceOffset: number
}

/** The step of a plan that computes distances without an index, or again from the vectors that an index has found. */
const flatStep = 'KNNVectorDistance'

/**
 * The distance of n vectors to a row with several vectors is the sum, over the n, of the distance to the nearest vector
 * of the row. The pinned engine returns n - 1 less where it does not take the distance from an index. Such a search then
 * takes none from an index, because rows with either would not be comparable: of a table, an index may cover only a part.
 */
export async function correctSearch(
  table: NativeTable,
  factories: NativeTextQueries,
  query: TableQuery,
): Promise<CorrectedSearch> {
  const vectors = query.vector.length
  if (vectors < 2 || !searchesSeveralVectors(readFileSchema(await table.schema()), query))
    return { query, distanceOffset: 0 }
  const plan = await toNativeQuery(table, factories, query).explainPlan(false)
  if (!plan.includes(flatStep)) return { query, distanceOffset: 0 }
  const distanceOffset = vectors - 1
  const { lower_bound: lower, upper_bound: upper } = query
  const corrected: TableQuery = {
    ...query,
    // Rows that no index covers are not wanted then.
    bypass_vector_index: !query.fast_search,
    lower_bound: lower == null ? lower : lower - distanceOffset,
    upper_bound: upper == null ? upper : upper - distanceOffset,
  }
  return { query: corrected, distanceOffset }
}

/** Without a name, the engine searches the only column with vectors. */
function searchesSeveralVectors(schema: ArrowSchema, { vector_column: path }: TableQuery): boolean {
  if (path == null) return schema.fields.some(isListOfVectors)
  const field = findField(schema, path)
  return field !== undefined && isListOfVectors(field)
}

function isListOfVectors({ type, children: [child] }: ArrowField): boolean {
  return (type.id === Type.List || type.id === Type.LargeList) && child?.type.id === Type.FixedSizeList
}

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
