import { CompressionType } from 'apache-arrow/fb/compression-type'
import type { RecordBatch } from 'apache-arrow/fb/record-batch'
import { malformedArrowError } from './arrow-frames.ts'

export interface BatchSize {
  readonly rows: number
  readonly decodedBytes: number
}

/** The maximum expansion of an LZ4 block. */
const lz4Ratio = 255
/** The row limit for columns without bytes (type null). */
const emptyRows = 1 << 20

/**
 * The header determines how much memory the engine allocates, and an excessive allocation aborts the process. So each
 * buffer must lie within the body and expand no more than its compression allows, and no column may claim more rows
 * than it can hold.
 */
export function measureBatch(batch: RecordBatch, body: Uint8Array): BatchSize {
  const decodedBytes = measureBuffers(batch, body)
  const rowsLimit = decodedBytes * 8 + emptyRows
  const rows = Number(batch.length())
  if (rows < 0 || rows > rowsLimit)
    throw malformedArrowError(`a record batch claims ${rows} rows, more than it contains`)
  const columns = batch.nodesLength()
  for (let index = 0; index < columns; index++) {
    const length = Number(batch.nodes(index)?.length() ?? -1)
    if (length < 0 || length > rowsLimit)
      throw malformedArrowError(`a column claims ${length} values, more than it contains`)
  }
  return { rows, decodedBytes }
}

function measureBuffers(batch: RecordBatch, body: Uint8Array): number {
  const codec = batch.compression()?.codec()
  const bodyView = new DataView(body.buffer, body.byteOffset, body.byteLength)
  const buffers = batch.buffersLength()
  let decodedBytes = 0
  for (let index = 0; index < buffers; index++) {
    const buffer = batch.buffers(index)
    const offset = Number(buffer?.offset() ?? -1)
    const length = Number(buffer?.length() ?? -1)
    if (offset < 0 || length < 0 || offset + length > body.length) {
      throw malformedArrowError('a record batch has a buffer out of range')
    }
    decodedBytes +=
      codec === undefined || length === 0 ? length : readDecodedLength(bodyView, offset, length, codec)
  }
  return decodedBytes
}

/** A compressed buffer starts with its decoded length; -1 means that it is stored uncompressed. */
function readDecodedLength(body: DataView, offset: number, length: number, codec: CompressionType): number {
  if (length < 8) throw malformedArrowError('truncated compressed buffer')
  const claimed = Number(body.getBigInt64(offset, true))
  if (claimed === -1) return length - 8
  if (claimed < 0 || (codec === CompressionType.LZ4_FRAME && claimed > length * lz4Ratio)) {
    throw malformedArrowError(`a compressed buffer claims ${claimed} bytes, more than possible`)
  }
  return claimed
}
