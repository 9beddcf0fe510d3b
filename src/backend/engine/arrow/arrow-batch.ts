import { CompressionType } from 'apache-arrow/fb/compression-type'
import type { RecordBatch } from 'apache-arrow/fb/record-batch'
import { malformedArrow } from './arrow-frames.ts'

/** How large a record batch is when it is decoded. */
export interface BatchSize {
  readonly rows: number
  readonly decodedBytes: number
}

/** No LZ4 block holds more than this many bytes per byte. */
const lz4Ratio = 255
/** Columns without any bytes (type null) are believed up to this many rows. */
const emptyRows = 1 << 20

/**
 * Measures a record batch by its header. What a header claims decides how much memory the engine asks for, and a
 * request for too much ends the whole process: so no buffer may lie outside of the body, none may claim to hold
 * more than its compression can, and no column more rows than its bytes can.
 */
export function measureBatch(batch: RecordBatch, body: Uint8Array): BatchSize {
  const decodedBytes = measureBuffers(batch, body)
  const rowsLimit = decodedBytes * 8 + emptyRows
  const rows = Number(batch.length())
  if (rows < 0 || rows > rowsLimit)
    throw malformedArrow(`a record batch claims ${rows} rows, more than it contains`)
  const columns = batch.nodesLength()
  for (let index = 0; index < columns; index++) {
    const length = Number(batch.nodes(index)?.length() ?? -1)
    if (length < 0 || length > rowsLimit)
      throw malformedArrow(`a column claims ${length} values, more than it contains`)
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
      throw malformedArrow('a record batch has a buffer out of range')
    }
    decodedBytes +=
      codec === undefined || length === 0 ? length : decodedLength(bodyView, offset, length, codec)
  }
  return decodedBytes
}

/** A compressed buffer begins with its decoded length; -1 says that it is not compressed after all. */
function decodedLength(body: DataView, offset: number, length: number, codec: CompressionType): number {
  if (length < 8) throw malformedArrow('truncated compressed buffer')
  const claimed = Number(body.getBigInt64(offset, true))
  if (claimed === -1) return length - 8
  if (claimed < 0 || (codec === CompressionType.LZ4_FRAME && claimed > length * lz4Ratio)) {
    throw malformedArrow(`a compressed buffer claims ${claimed} bytes, more than possible`)
  }
  return claimed
}
