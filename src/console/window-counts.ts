/** The counts of a part of the window. */
export interface CountedSlot {
  readonly names: ReadonlyMap<string, number>
  /** Of further names together. */
  readonly others: number
}

export interface NamedCounts {
  /** Undefined for all other names together. */
  readonly name: string | undefined
  /** By slot, oldest first; the current slot is the last. */
  readonly minutes: readonly number[]
}

/** Names that are counted separately within the current slot, and in each earlier one. */
const [maxNames, maxEarlierNames] = [1_000, 100]
const shownNames = 5
const emptySlot: CountedSlot = { names: new Map(), others: 0 }

/** Counts names in a sliding window of equal slots, in a bounded amount of memory. */
export class WindowCounts {
  readonly #slotMs: number
  readonly #length: number
  readonly #now: () => number
  readonly #slots = new Map<number, { names: Map<string, number>; others: number }>()

  /** `now` returns monotonic milliseconds. */
  constructor(slotMs: number, length: number, now: () => number) {
    this.#slotMs = slotMs
    this.#length = length
    this.#now = now
  }

  add(name: string): void {
    const at = this.#getCurrent()
    const slot = this.#slots.get(at) ?? this.#startSlot(at)
    const count = slot.names.get(name)
    if (count === undefined && slot.names.size >= maxNames) slot.others += 1
    else slot.names.set(name, (count ?? 0) + 1)
  }

  /** Oldest first; the current slot is the last. */
  list(): readonly CountedSlot[] {
    const first = this.#getCurrent() - this.#length + 1
    return Array.from({ length: this.#length }, (_, index) => this.#slots.get(first + index) ?? emptySlot)
  }

  #getCurrent(): number {
    return Math.floor(this.#now() / this.#slotMs)
  }

  #startSlot(at: number) {
    for (const [earlier, slot] of this.#slots) {
      if (earlier <= at - this.#length) this.#slots.delete(earlier)
      for (const [name, count] of sortByCount(slot.names).slice(maxEarlierNames)) {
        slot.names.delete(name)
        slot.others += count
      }
    }
    const slot = { names: new Map<string, number>(), others: 0 }
    this.#slots.set(at, slot)
    return slot
  }
}

/** The names with the most requests, the most first, then all others together, if there are others. */
export function getTop(slots: readonly CountedSlot[]): readonly NamedCounts[] {
  const top = sortByCount(sumByName(slots)).slice(0, shownNames)
  const others = slots.map(({ names, others }) => {
    const all = [...names.values()].reduce((sum, count) => sum + count, others)
    return top.reduce((rest, [name]) => rest - (names.get(name) ?? 0), all)
  })
  return [
    ...top.map(([name]) => ({ name, minutes: slots.map(({ names }) => names.get(name) ?? 0) })),
    ...(others.some((count) => count > 0) ? [{ name: undefined, minutes: others }] : []),
  ]
}

export function sumByName(slots: readonly CountedSlot[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const { names } of slots)
    for (const [name, count] of names) sums.set(name, (sums.get(name) ?? 0) + count)
  return sums
}

function sortByCount(names: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...names].toSorted(
    ([one, count], [other, otherCount]) => otherCount - count || (one < other ? -1 : 1),
  )
}
