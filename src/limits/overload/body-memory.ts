import { FairCapacity, type CapacityHolder } from './fair-capacity.ts'
import { Overloaded } from './load-shedder.ts'

/** Bytes of a body that need no reservation: almost all bodies have fewer. */
const unreservedBytes = 16 * 1024

/** The memory for bodies that are kept until their request is over, which principals share fairly. */
export interface BodyMemory {
  readonly maxBytes: number
  reservedBytes(): number
  /**
   * Returns what is to be called with the number of bytes of one body before they are kept: it reserves memory in
   * powers of two, and throws Overloaded (503) if the principal may not have more. `whenOver` takes what releases it.
   */
  createReservation(holder: CapacityHolder, whenOver: (release: () => void) => void): (bytes: number) => void
}

/** Memory of which nothing is reserved. */
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
