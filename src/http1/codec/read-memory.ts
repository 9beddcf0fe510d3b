/** Smaller reads cost the garbage collector little. */
const minBytes = 32 * 1024
/** Memory that contains nothing but the bytes of one read. */
const readMemory = new WeakSet<ArrayBufferLike>()

/** Marks the memory of bytes that a socket has read as releasable. It must contain nothing else. */
export function trackReadMemory(bytes: Buffer): void {
  if (bytes.length >= minBytes) readMemory.add(bytes.buffer)
}

/**
 * Frees tracked memory at once if the chunk is the last part of it. Call it when neither the chunk nor the bytes before
 * it are used any more. The garbage collector would free it too, but collects the whole heap for each 64 MB of external
 * memory, which dominated the cost of large bodies. No effect on Node 20.
 */
export function releaseReadMemory({ buffer, byteOffset, byteLength }: Buffer): void {
  if (byteOffset + byteLength === buffer.byteLength && readMemory.has(buffer) && isTransferable(buffer))
    buffer.transfer(0)
}

/** ArrayBuffer of ECMAScript 2024. */
interface Transferable {
  transfer(length: number): ArrayBuffer
}

function isTransferable(buffer: object): buffer is Transferable {
  return 'transfer' in buffer
}
