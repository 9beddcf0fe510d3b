import {
  DataType,
  type Dictionary,
  makeData,
  Table,
  tableFromIPC,
  tableToIPC,
  Vector,
  vectorFromArray,
} from 'apache-arrow'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'

/**
 * Converts an Arrow IPC stream that replaces dictionaries, which a file cannot, into one in which each column has one
 * dictionary with the values of all. Throws InvalidInput if the indices of a column cannot count them, and Unsupported for
 * streams that this process cannot decode, such as compressed ones.
 */
export function mergeDictionaries(stream: Uint8Array): Uint8Array {
  try {
    const table = tableFromIPC(stream)
    const columns = table.schema.fields.map(({ name, type }, index) => {
      const column: Vector | null = table.getChildAt(index)
      return [name, column !== null && DataType.isDictionary(type) ? mergeColumn(name, column) : column]
    })
    return tableToIPC(new Table(table.schema, Object.fromEntries(columns)), 'stream')
  } catch (error) {
    if (error instanceof CatalogError) throw error
    const message =
      'a dictionary is replaced between batches; use a delta, or send the rows in several requests'
    throw new CatalogError('Unsupported', message, { cause: error })
  }
}

function mergeColumn(name: string, column: Vector<Dictionary>): Vector<Dictionary> {
  const values: unknown[] = []
  const starts = new Map<Vector | undefined, number>()
  for (const { dictionary } of column.data) {
    if (starts.has(dictionary)) continue
    starts.set(dictionary, values.length)
    for (const value of dictionary ?? []) values.push(value)
  }
  const { type } = column
  const dictionary = vectorFromArray(values, type.dictionary)
  return new Vector(
    column.data.map((data) => {
      const start = starts.get(data.dictionary) ?? 0
      const shifted = data.values.map((index) => index + start)
      if (shifted.some((index, row) => index !== Number(data.values[row]) + start)) {
        const message = `the column ${quoteForMessage(name)} has more values than its indices count; use wider ones`
        throw invalidInput(message)
      }
      const { length, nullCount, nullBitmap, offset } = data
      return makeData({ type, length, nullCount, nullBitmap, offset, data: shifted, dictionary })
    }),
  )
}
