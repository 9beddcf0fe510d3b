/** What a pipe takes as one, where it takes it (PIPE_BUF of Linux, pipe(7)). */
const pipeBufBytes = 4096

/**
 * As many whole lines from the beginning as a pipe takes as one, but one at least: what several processes write into
 * the same pipe in such pieces does not get mixed up, but for lines that are longer.
 */
export function takeAtomicLines(bytes: Buffer): Buffer {
  if (bytes.length <= pipeBufBytes) return bytes
  const last = bytes.lastIndexOf('\n', pipeBufBytes - 1)
  const end = last === -1 ? bytes.indexOf('\n') : last
  return end === -1 ? bytes : bytes.subarray(0, end + 1)
}
