/**
 * Where connections read into, as long as what they read is small: all of them, since each is done with what it read
 * before another one reads.
 */
export const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024)

const largeBytes = 1024 * 1024
const maximumSpare = 16
const spare: Buffer[] = []

/** A large buffer for one who reads much; given back, it is lent to others. */
export function borrowBuffer(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(largeBytes)
}

/** Only for a buffer that nobody reads from any more: not even a write that is under way. */
export function giveBackBuffer(buffer: Buffer): void {
  if (spare.length < maximumSpare) spare.push(buffer)
}
