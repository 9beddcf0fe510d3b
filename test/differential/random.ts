/** Pseudo-random values; the same seed gives the same values. */
export interface Random {
  /** Returns an integer of at least 0 and below the limit. */
  readonly below: (limit: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <Item>(items: readonly [Item, ...Item[]] | readonly Item[]) => Item
  /** Returns a text of these characters. */
  readonly text: (length: number, characters: string) => string
}

/** The generator mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(fraction() * limit)
  return {
    below,
    chance: (probability) => fraction() < probability,
    pick(items) {
      const index = below(items.length)
      if (items.length === 0) throw new Error('no items to pick from')
      return items[index] as (typeof items)[number]
    },
    text: (length, characters) =>
      Array.from({ length }, () => characters.charAt(below(characters.length))).join(''),
  }
}
