import type { Frame } from './arrow-frames.ts'

export interface FileBlock {
  readonly offset: number
  /** Bytes before the body, including the continuation marker and the length. */
  readonly metadataLength: number
  readonly bodyLength: number
}

const blockSize = 24
/** The root offset, the table's directory of four fields and the table: version, schema, two vectors. */
const tablePosition = 16
const versionPosition = 20
const schemaPosition = 24
const dictionariesPosition = 28
const batchesPosition = 32
const vectorsPosition = 36

/** The footer must repeat the schema; FlatBuffers offsets are relative, so it contains a copy of the schema message. */
export function buildFooter(
  schema: Frame,
  dictionaries: readonly FileBlock[],
  batches: readonly FileBlock[],
): Buffer {
  const batchesVector = vectorsPosition + 4 + blockSize * dictionaries.length + 4
  // Blocks contain 64-bit numbers, so the first one is aligned to 8, and its length is 4 bytes before.
  const schemaMessage = align(batchesVector + 4 + blockSize * batches.length)
  const length = align(schemaMessage + schema.metadata.length)
  const footer = Buffer.alloc(length + 10)
  footer.writeUInt32LE(tablePosition, 0)
  footer.writeUInt16LE(12, 4)
  footer.writeUInt16LE(20, 6)
  for (const [field, position] of [
    versionPosition,
    schemaPosition,
    dictionariesPosition,
    batchesPosition,
  ].entries()) {
    footer.writeUInt16LE(position - tablePosition, 8 + 2 * field)
  }
  footer.writeInt32LE(tablePosition - 4, tablePosition)
  footer.writeInt16LE(schema.formatVersion, versionPosition)
  footer.writeUInt32LE(schemaMessage + schema.header.bb_pos - schemaPosition, schemaPosition)
  footer.writeUInt32LE(vectorsPosition - dictionariesPosition, dictionariesPosition)
  footer.writeUInt32LE(batchesVector - batchesPosition, batchesPosition)
  writeBlocks(footer, vectorsPosition, dictionaries)
  writeBlocks(footer, batchesVector, batches)
  footer.set(schema.metadata, schemaMessage)
  footer.writeInt32LE(length, length)
  footer.write('ARROW1', length + 4, 'latin1')
  return footer
}

function writeBlocks(footer: Buffer, position: number, blocks: readonly FileBlock[]): void {
  footer.writeUInt32LE(blocks.length, position)
  for (const [index, block] of blocks.entries()) {
    const start = position + 4 + blockSize * index
    footer.writeBigInt64LE(BigInt(block.offset), start)
    footer.writeInt32LE(block.metadataLength, start + 8)
    footer.writeBigInt64LE(BigInt(block.bodyLength), start + 16)
  }
}

function align(length: number): number {
  return (length + 7) & ~7
}
