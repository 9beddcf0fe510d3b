export interface NamedCounts {
  /** Undefined for all other names together. */
  readonly name: string | undefined
  /** Requests by minute of the last hour, oldest first; the current minute is the last. */
  readonly minutes: readonly number[]
}

/** Counts requests by name in the last hour, in a bounded amount of memory. */
export interface NameCounts {
  add(name: string): void
  /** The names with the most requests, the most first, then all others together, if there are others. */
  getTop(): readonly NamedCounts[]
}

const shownMinutes = 60
/** Names that are counted separately within the current minute. */
const maxNames = 1000
/** Names of each earlier minute. */
const maxEarlierNames = 20
const shownNames = 5

interface Minute {
  readonly minute: number
  names: ReadonlyMap<string, number>
  others: number
}

/** `now` returns monotonic milliseconds. */
export function createNameCounts(now: () => number): NameCounts {
  /** Oldest first. */
  let earlier: readonly Minute[] = []
  let current: Minute & { readonly names: Map<string, number> } = createMinute(-1)

  function advance(): void {
    const minute = Math.floor(now() / 60_000)
    if (current.minute === minute) return
    earlier = [...earlier, keepLargest(current)].filter((one) => one.minute > minute - shownMinutes)
    current = createMinute(minute)
  }

  return {
    add(name) {
      advance()
      const { names } = current
      const count = names.get(name)
      if (count === undefined && names.size >= maxNames) current.others += 1
      else names.set(name, (count ?? 0) + 1)
    },
    getTop() {
      advance()
      const minutes = [...earlier, current]
      const top = sortByCount(sumByName(minutes))
        .slice(0, shownNames)
        .map(([name]) => name)
      const toMinutes = (count: (minute: Minute) => number): readonly number[] =>
        Array.from({ length: shownMinutes }, (_, index) => {
          const found = minutes.find(({ minute }) => minute === current.minute - shownMinutes + 1 + index)
          return found === undefined ? 0 : count(found)
        })
      const others = toMinutes((minute) => countOthers(minute, top))
      return [
        ...top.map((name) => ({ name, minutes: toMinutes(({ names }) => names.get(name) ?? 0) })),
        ...(others.some((count) => count > 0) ? [{ name: undefined, minutes: others }] : []),
      ]
    },
  }
}

function createMinute(minute: number) {
  return { minute, names: new Map<string, number>(), others: 0 }
}

function keepLargest(minute: Minute): Minute {
  const names = sortByCount(minute.names).slice(0, maxEarlierNames)
  return {
    minute: minute.minute,
    names: new Map(names),
    others: countOthers(
      minute,
      names.map(([name]) => name),
    ),
  }
}

function sortByCount(names: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...names].toSorted(
    ([one, count], [other, otherCount]) => otherCount - count || (one < other ? -1 : 1),
  )
}

function sumByName(minutes: readonly Minute[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const { names } of minutes)
    for (const [name, count] of names) sums.set(name, (sums.get(name) ?? 0) + count)
  return sums
}

function countOthers({ names, others }: Minute, shown: readonly string[]): number {
  const all = [...names.values()].reduce((sum, count) => sum + count, others)
  return shown.reduce((rest, name) => rest - (names.get(name) ?? 0), all)
}
