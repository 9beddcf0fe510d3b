import { FairCapacity, type CapacityHolder } from './fair-capacity.ts'
import { Overloaded } from './load-shedder.ts'

/** Bytes per body that need no reservation; almost all bodies are smaller. */
const unreservedBytes = 16 * 1024

/** Memory for bodies that are buffered until their request ends, shared fairly among principals. */
export interface BodyMemory {
  readonly maxBytes: number
  reservedBytes(): number
  /**
   * Returns a function to call with the total number of bytes of one body before they are buffered: it reserves memory
   * in powers of two, and throws Overloaded (503) if the principal may not hold more. Passes a function that releases
   * the reservation to `whenOver`.
   */
  createReservation(holder: CapacityHolder, whenOver: (release: () => void) => void): (bytes: number) => void
}

export function createBodyMemory(maxBytes: number): BodyMemory {
  const capacity = new FairCapacity(maxBytes, 1)
  return {
    maxBytes,
    reservedBytes: () => capacity.used,
    createReservation(holder, whenOver) {
      let retained = 0
      let reserved = unreservedBytes
      return (bytes) => {
        retained += bytes
        while (retained > reserved) {
          const more = reserved
          if (!capacity.take(holder, more)) throw new Overloaded()
          whenOver(() => capacity.release(holder, more))
          reserved += more
        }
      }
    },
  }
}
