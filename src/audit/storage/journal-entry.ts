import { crc32 } from 'node:zlib'

// The format of the journal (write-ahead-journal.ts). An entry starts at a block boundary, so that no write touches the
// blocks of an earlier one. It consists of the magic bytes, whose last one is the format version; the CRC-32 of all
// that follows; generation, offset, the lengths of bytes and name; the segment name; the bytes. Numbers are
// big-endian. The last block is padded with zeros. Text of records contains no control characters except newlines, so
// it cannot be mistaken for an entry.

/** Block size: at least the atomic write unit of disks and file systems. */
const blockBytes = 4_096

const magic = Buffer.from('\u0001CGJ1', 'latin1')
const checksumAt = magic.length
const generationAt = checksumAt + 4
const offsetAt = generationAt + 6
const lengthAt = offsetAt + 6
const nameLengthAt = lengthAt + 4
const nameAt = nameLengthAt + 2

export interface JournalEntry {
  /** Larger is newer. Entries of a generation are contiguous. */
  readonly generation: number
  readonly file: string
  readonly offset: number
  /** Whole lines. */
  readonly bytes: Buffer
}

/** Returns the size of an entry in bytes: a multiple of the block size. */
export function computeEntrySize(file: string, length: number): number {
  return Math.ceil((nameAt + file.length + length) / blockBytes) * blockBytes
}

/** Writes the entry to the start of the buffer and returns its size. The name must be ASCII. */
export function encodeEntry(buffer: Buffer, { generation, file, offset, bytes }: JournalEntry): number {
  const size = computeEntrySize(file, bytes.length)
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
 * Decodes the complete entries of the newest generation, in order. Returns a string that describes the problem if the
 * content is not a journal of this version. An entry whose write was interrupted is ignored. If it was the first of its
 * generation, the previous generation is returned: its data is already durable in its segment.
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
    at += entry ? computeEntrySize(entry.file, entry.bytes.length) : blockBytes
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
