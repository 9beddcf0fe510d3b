/** Shared by all connections for small reads: each has consumed or copied its bytes before the next one reads. */
export const sharedReadBuffer = Buffer.allocUnsafeSlow(64 * 1024)

const largeBytes = 1024 * 1024
const maxPooled = 16
const pooled: Buffer[] = []

export function acquireBuffer(): Buffer {
  return pooled.pop() ?? Buffer.allocUnsafeSlow(largeBytes)
}

/** The buffer must not be used afterwards, also not by pending reads and writes. */
export function releaseBuffer(buffer: Buffer): void {
  if (pooled.length < maxPooled) pooled.push(buffer)
}
