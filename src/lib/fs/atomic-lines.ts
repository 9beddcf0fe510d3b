/** Bytes of an atomic write to a pipe (PIPE_BUF of Linux, pipe(7)). */
const pipeBufBytes = 4096

/**
 * Returns the whole lines that fit one atomic pipe write, at least one, so that processes that share a pipe do not
 * interleave lines, except for longer ones.
 */
export function takeAtomicLines(bytes: Buffer): Buffer {
  if (bytes.length <= pipeBufBytes) return bytes
  const last = bytes.lastIndexOf('\n', pipeBufBytes - 1)
  const end = last === -1 ? bytes.indexOf('\n') : last
  return end === -1 ? bytes : bytes.subarray(0, end + 1)
}
