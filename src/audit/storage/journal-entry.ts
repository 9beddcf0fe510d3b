import { crc32 } from 'node:zlib'

// The format of the journal (journal.ts). An entry begins at a block, so that no write touches the blocks of an earlier
// one, and is: the magic bytes, whose last is the version of the format; the CRC-32 of all that follows; generation,
// offset, the lengths of bytes and name; the name of the segment; the bytes. Numbers are big-endian. What fills up its
// last block is zero. As text of records holds no control characters but newlines, it never looks like an entry.

/** The size of a block: no smaller than what disks and file systems write as one. */
const blockBytes = 4_096

const magic = Buffer.from('\u0001CGJ1', 'latin1')
const checksumAt = magic.length
const generationAt = checksumAt + 4
const offsetAt = generationAt + 6
const lengthAt = offsetAt + 6
const nameLengthAt = lengthAt + 4
const nameAt = nameLengthAt + 2

/** Bytes that stand in a segment. */
export interface JournalEntry {
  /** Larger is newer. All entries of a generation lie one behind the other. */
  readonly generation: number
  /** The name of the segment. */
  readonly file: string
  /** Where the bytes begin in it. */
  readonly offset: number
  /** Whole lines. */
  readonly bytes: Buffer
}

/** The room that an entry takes: whole blocks. */
export function entrySize(file: string, length: number): number {
  return Math.ceil((nameAt + file.length + length) / blockBytes) * blockBytes
}

/** Writes the entry to the beginning of the buffer; answers its size. The name is ASCII. */
export function encodeEntry(buffer: Buffer, { generation, file, offset, bytes }: JournalEntry): number {
  const size = entrySize(file, bytes.length)
  const bytesAt = nameAt + file.length
  const end = bytesAt + bytes.length
  magic.copy(buffer)
  buffer.writeUIntBE(generation, generationAt, 6)
  buffer.writeUIntBE(offset, offsetAt, 6)
  buffer.writeUInt32BE(bytes.length, lengthAt)
  buffer.writeUInt16BE(file.length, nameLengthAt)
  buffer.write(file, nameAt, 'latin1')
  bytes.copy(buffer, bytesAt)
  buffer.fill(0, end, size)
  buffer.writeUInt32BE(crc32(buffer.subarray(generationAt, end)), checksumAt)
  return size
}

/**
 * The whole entries of the newest generation, in order; a string says why the content is no journal of this version.
 * An entry whose write was interrupted is none. Where that was the first of its generation, the one before is answered:
 * what that holds stands in its segment for good.
 */
export function decodeEntries(content: Buffer): JournalEntry[] | string {
  const head = content.subarray(0, magic.length)
  if (!head.equals(magic) && head.some((byte) => byte !== 0)) return 'not a journal of format version 1'
  let newest: JournalEntry[] = []
  for (let at = 0; at < content.length;) {
    const entry = decodeEntry(content.subarray(at))
    const generation = newest[0]?.generation ?? 0
    if (entry && entry.generation > generation) newest = [entry]
    else if (entry?.generation === generation) newest.push(entry)
    at += entry ? entrySize(entry.file, entry.bytes.length) : blockBytes
  }
  return newest
}

function decodeEntry(content: Buffer): JournalEntry | undefined {
  if (content.length < nameAt || !content.subarray(0, magic.length).equals(magic)) return undefined
  const bytesAt = nameAt + content.readUInt16BE(nameLengthAt)
  const end = bytesAt + content.readUInt32BE(lengthAt)
  if (end > content.length) return undefined
  if (crc32(content.subarray(generationAt, end)) !== content.readUInt32BE(checksumAt)) return undefined
  return {
    generation: content.readUIntBE(generationAt, 6),
    file: content.toString('latin1', nameAt, bytesAt),
    offset: content.readUIntBE(offsetAt, 6),
    bytes: content.subarray(bytesAt, end),
  }
}
