import {
  Field,
  FixedSizeList,
  Float32,
  Int32,
  RecordBatchStreamWriter,
  Table,
  Utf8,
  tableFromIPC,
  vectorFromArray,
} from 'apache-arrow'

/** An Arrow stream of rows with ids starting at `first`, each with a name and a vector `[id, 1]`. */
export function rows(count: number, first = 0): Uint8Array {
  return write(tableOfRows(count, first, 'name'))
}

export function tableOfRows(count: number, first: number, word: string): Table {
  const ids = Array.from({ length: count }, (_, index) => first + index)
  const names = ids.map((id) => `${word} ${id}`)
  const vectors = ids.map((id) => [id, 1])
  return new Table({
    id: vectorFromArray(ids, new Int32()),
    name: vectorFromArray(names, new Utf8()),
    embedding: vectorFromArray(vectors, new FixedSizeList(2, new Field('item', new Float32(), true))),
  })
}

export function noRows(): Uint8Array {
  const writer = new RecordBatchStreamWriter()
  writer.reset(undefined, tableFromIPC(rows(1)).schema)
  return writer.finish().toUint8Array(true)
}

/** Rows of another schema: only `id`, as a text. */
export function otherRows(): Uint8Array {
  return write(new Table({ id: vectorFromArray(['x'], new Utf8()) }))
}

/** The ids in an Arrow file, in order. */
export function idsOf(file: Uint8Array): number[] {
  return tableFromIPC(file)
    .toArray()
    .map((row: Record<string, unknown>) => Number(row['id']))
}

export function columnsOf(file: Uint8Array): string[] {
  return tableFromIPC(file).schema.fields.map(({ name }) => name)
}

function write(table: Table): Uint8Array {
  return RecordBatchStreamWriter.writeAll(table).toUint8Array(true)
}
