import path from 'node:path'
import { RecordBatchStreamWriter, tableFromIPC } from 'apache-arrow'
import type { Schema, Table } from 'apache-arrow'
import { onTestFinished } from 'vitest'
import { tableOfRows } from '../../../../test/conformance/sample-rows.ts'
import { openEngine } from '../../engine/lancedb-engine.ts'
import { queryTableRequestSchema } from '../../schemas/query.ts'
import { localFileStorage } from '../../storage/local-storage.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

export const openLocalEngine = (decodedUploadBytes = 2 ** 30) =>
  openEngine(localFileStorage, decodedUploadBytes)

/** Opens an engine; returns it with the location of a table that does not exist yet. */
export async function freshEngine(decodedUploadBytes?: number) {
  const location = path.join(await temporaryFolder(), 'orders.lance')
  const engine = openLocalEngine(decodedUploadBytes)
  onTestFinished(async () => engine.close())
  /** Runs a query in its wire form and decodes the result. */
  const query = async (request: unknown): Promise<Table> => {
    const chunks = []
    for await (const chunk of await engine.query({ location }, queryTableRequestSchema.parse(request)))
      chunks.push(chunk)
    return tableFromIPC(Buffer.concat(chunks))
  }
  return { engine, location, query }
}

/** Creates rows with ids starting at `first`, a name and a vector `[id, 1]`. */
export function orders(count: number, first = 0): Table {
  return tableOfRows(count, first, 'order')
}

/** Encodes the table as a complete Arrow IPC stream. */
export function streamOf(table: Table): Uint8Array {
  return RecordBatchStreamWriter.writeAll(table).toUint8Array(true)
}

/** A stream with a schema and no record batch. */
export function schemaOnly(schema: Schema = orders(1).schema): Uint8Array {
  const writer = new RecordBatchStreamWriter()
  writer.reset(undefined, schema)
  return writer.finish().toUint8Array(true)
}

/** Returns the rows as plain, comparable values. */
export function rowsOf(table: Table): unknown[] {
  const text = JSON.stringify(table.toArray(), (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}` : value,
  )
  return JSON.parse(text) as unknown[]
}
