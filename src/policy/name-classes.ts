import { InterfaceError } from '../interface/errors.ts'
import { assertName } from '../interface/identifiers.ts'
import { matcherOf } from './name-pattern.ts'

/** Where the patterns can be in a name: of each the places behind which a name may go on. */
type State = readonly (readonly number[])[]

const maximumStates = 20_000

/**
 * Names of which no two match the same patterns, and one for every set of patterns that some name matches. Whatever
 * is decided by the patterns alone is so decided for every name there can be. It walks through all names at once, by
 * the places in the patterns that a name can have reached: names with the same places go on alike. Of the letters
 * that stand in no pattern, one stands for all. Throws RangeError for patterns that are too many.
 */
export function nameClasses(patterns: readonly string[]): readonly string[] {
  const distinct = [...new Set(patterns)]
  const spelled = distinct.map((pattern) => Array.from(pattern))
  const matchers = distinct.map(matcherOf)
  const letters = [...new Set(spelled.flat())].filter((letter) => letter !== '*')
  const alphabet = [letterBesides(letters), ...letters]
  const classes = new Map<string, string>()
  const start: State = spelled.map((pattern) => behindStars(pattern, [0]))
  const seen = new Set([JSON.stringify(start)])
  const queue: { readonly name: string; readonly state: State }[] = [{ name: '', state: start }]
  // The queue grows while it is gone through.
  for (const { name, state } of queue) {
    for (const letter of alphabet) {
      const longer = name + letter
      const matched = matchers.map((matches) => matches(longer)).join()
      if (!classes.has(matched) && isUsable(longer)) classes.set(matched, longer)
      const next = spelled.map((pattern, index) => step(pattern, state[index] ?? [], letter))
      const key = JSON.stringify(next)
      if (seen.has(key)) continue
      seen.add(key)
      if (seen.size > maximumStates) throw new RangeError('too many table patterns to analyze')
      queue.push({ name: longer, state: next })
    }
  }
  return [...classes.values()]
}

function step(pattern: readonly string[], places: readonly number[], letter: string): readonly number[] {
  const next = places.flatMap((place) => {
    if (pattern[place] === '*') return [place]
    return pattern[place] === letter ? [place + 1] : []
  })
  return behindStars(pattern, next)
}

/** A star may stand for nothing, so that a name is behind it at once. */
function behindStars(pattern: readonly string[], places: readonly number[]): readonly number[] {
  const all = new Set(places)
  for (const place of all) if (pattern[place] === '*') all.add(place + 1)
  return [...all].toSorted((one, other) => one - other)
}

function letterBesides(letters: readonly string[]): string {
  const taken = new Set(letters)
  for (let code = 'x'.codePointAt(0) ?? 0; ; code++) {
    const letter = String.fromCodePoint(code)
    if (!taken.has(letter) && isUsable(letter)) return letter
  }
}

function isUsable(name: string): boolean {
  try {
    assertName(name, 'a name')
    return true
  } catch (error) {
    if (error instanceof InterfaceError) return false
    throw error
  }
}
