import { FairCapacity, type CapacityHolder } from './fair-capacity.ts'
import { Overloaded } from './load-shedder.ts'

/** Bytes per body that need no reservation; almost all bodies are smaller. */
const unreservedBytes = 16 * 1024

/** Memory for bodies that are buffered until their request ends, shared fairly among principals. */
export interface BodyMemory {
  readonly maxBytes: number
  reservedBytes(): number
  /**
   * Call the result with the bytes of each chunk before it is buffered. It reserves memory in powers of two, passes
   * their release to `registerRelease`, and throws Overloaded (503) if the principal may not hold more.
   */
  createReservation(
    holder: CapacityHolder,
    registerRelease: (release: () => void) => void,
  ): (bytes: number) => void
}

export function createBodyMemory(maxBytes: number): BodyMemory {
  const capacity = new FairCapacity(maxBytes, 1)
  return {
    maxBytes,
    reservedBytes: () => capacity.used,
    createReservation(holder, registerRelease) {
      let buffered = 0
      let reserved = unreservedBytes
      return (bytes) => {
        buffered += bytes
        while (buffered > reserved) {
          const increment = reserved
          if (!capacity.take(holder, increment)) {
            throw new Overloaded('the JSON bodies of this caller hold its share of the memory for bodies')
          }
          registerRelease(() => capacity.release(holder, increment))
          reserved += increment
        }
      }
    },
  }
}
