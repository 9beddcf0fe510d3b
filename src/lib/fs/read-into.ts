import type { FileHandle } from 'node:fs/promises'

/** Fills the buffer from that position of the file. Resolves to the number of bytes read. */
export async function readInto(handle: FileHandle, buffer: Buffer, position: number): Promise<number> {
  let length = 0
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, position + length)
    if (bytesRead === 0) return length
    length += bytesRead
  }
}
