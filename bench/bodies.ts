import { RecordBatch, Struct, makeData, Field, Float64, Schema, Table, tableToIPC } from 'apache-arrow'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bodySizes, downloadOf, type BodySize } from './upstream-contract.ts'

export interface Bodies {
  readonly file: (name: 'query' | 'commit' | `arrow-${BodySize}`) => string
}

const batchBytes = 1024 * 1024

/** Writes a small query, a commit of a version, and Arrow streams of those sizes. */
export async function makeBodies(parent: string, sizes: readonly BodySize[]): Promise<Bodies> {
  const folder = join(parent, 'bodies')
  await mkdir(folder)
  const query = { k: 10, vector: [0.25, 0.5, 0.75, 1], columns: ['id', 'name'], filter: 'id > 7' }
  await writeFile(join(folder, 'query'), JSON.stringify(query))
  const commit = {
    version: 7,
    manifest_path: 'prod/orders/_versions/7.manifest',
    manifest_size: 4_096,
    e_tag: 'e',
  }
  await writeFile(join(folder, 'commit'), JSON.stringify(commit))
  for (const size of sizes) await writeFile(join(folder, `arrow-${size}`), arrowStream(bodySizes[size]))
  return { file: (name) => join(folder, name) }
}

/** Creates an Arrow IPC stream of 1 MiB batches with `bytes` bytes of data. */
function arrowStream(bytes: number): Uint8Array {
  const schema = new Schema([new Field('value', new Float64())])
  const batches = Array.from({ length: bytes / batchBytes }, () => {
    const values = new Float64Array(downloadOf(batchBytes).buffer)
    const column = makeData({ type: new Float64(), data: values })
    const data = makeData({ type: new Struct(schema.fields), length: values.length, children: [column] })
    return new RecordBatch(schema, data)
  })
  return tableToIPC(new Table(schema, batches), 'stream')
}
