/**
 * Finds what lies directly beneath something by its name. One table of numbers for all (open addressing, linear
 * probing), as a Map for each costs a decision several waits for memory. Who is looked for cannot make it slow: how
 * full it is depends on what was added alone.
 */
export interface ChildTable {
  /** Adds a child; no other one of that name may lie there. */
  add(parent: number, name: string, place: number): void
  find(parent: number, name: string): number | undefined
}

/** Whether at a place lies what has that name and lies directly beneath that parent. */
export type IsChild = (place: number, parent: number, name: string) => boolean

/** A table for so many children; no place is zero. */
export function createChildTable(size: number, isChild: IsChild): ChildTable {
  // At most half of it is taken, so that the next free slot is never far.
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * size + 1)))
  const last = slots.length - 1

  return {
    add(parent, name, place) {
      let slot = hashOf(parent, name) & last
      while (slots[slot] !== free) slot = (slot + 1) & last
      slots[slot] = place
    },
    find(parent, name) {
      for (let slot = hashOf(parent, name) & last; ; slot = (slot + 1) & last) {
        const place = slots[slot] ?? free
        if (place === free) return undefined
        if (isChild(place, parent, name)) return place
      }
    },
  }
}

const free = 0

/** FNV-1a over the code units, its upper bits mixed into the lower ones, which choose the slot. */
function hashOf(parent: number, name: string): number {
  let hash = Math.imul(parent, 0x9e3779b1)
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  }
  return hash ^ (hash >>> 15)
}
