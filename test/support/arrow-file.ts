import { tableToIPC, type Schema, type Table } from 'apache-arrow'
import { FileBlock, Footer } from 'apache-arrow/ipc/metadata/file'
import { readMessage } from '../../src/arrow/messages.ts'

const header = Buffer.from('ARROW1\0\0')

/** Encodes an Arrow file that begins with its schema, as files of other writers than apache-arrow do. */
export function encodeFile(table: Table): Buffer {
  return toFile(Buffer.from(tableToIPC(table, 'stream')), table.schema)
}

/** Adds the header and the footer of a file to a stream with an end. */
export function toFile(stream: Buffer, schema: Schema): Buffer {
  const blocks: FileBlock[] = []
  for (let at = 0, length = stream.readInt32LE(4); length > 0; length = stream.readInt32LE(at + 4)) {
    const message = readMessage(stream.subarray(at + 8, at + 8 + length))
    const bodyLength = message?.bodyLength ?? 0
    if (message?.kind === 'batch') blocks.push(new FileBlock(8 + length, bodyLength, header.length + at))
    at += 8 + length + bodyLength
  }
  const footer = Buffer.from(Footer.encode(new Footer(schema, 4, blocks, [])))
  const end = Buffer.alloc(10, 'xxxxARROW1')
  end.writeInt32LE(footer.length)
  return Buffer.concat([header, stream, footer, end])
}
