/** Smaller reads cost the garbage collector little. */
const minBytes = 32 * 1024
const trackedMemory = new WeakSet<ArrayBufferLike>()

/** Marks the memory of bytes that a socket has read as releasable. It must contain nothing else. */
export function trackReadMemory(bytes: Buffer): void {
  if (bytes.length >= minBytes) trackedMemory.add(bytes.buffer)
}

/**
 * Frees tracked memory if the chunk is the last part of it, and nothing before it is used any more. The garbage
 * collector would collect the whole heap for each 64 MB of external memory. No effect on Node 20.
 */
export function releaseReadMemory({ buffer, byteOffset, byteLength }: Buffer): void {
  if (byteOffset + byteLength === buffer.byteLength && trackedMemory.has(buffer) && isTransferable(buffer))
    buffer.transfer(0)
}

/** ECMAScript 2024. */
interface Transferable {
  transfer(length: number): ArrayBuffer
}

function isTransferable(buffer: object): buffer is Transferable {
  return 'transfer' in buffer
}
