import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { assertName } from '../../catalog-api/identifiers.ts'
import { createNameMatcher } from '../conditions/name-pattern.ts'

/** Where the patterns can be in a name: of each the places behind which a name may go on. */
type PatternState = readonly (readonly number[])[]

const maxStates = 20_000

/**
 * Names of which no two match the same patterns, and one for every set of patterns that some name matches. Whatever
 * is decided by the patterns alone is so decided for every name there can be. It walks through all names at once, by
 * the places in the patterns that a name can have reached: names with the same places go on alike. Of the letters
 * that stand in no pattern, one stands for all. Throws RangeError for patterns that are too many.
 */
export function representativeNames(patterns: readonly string[]): readonly string[] {
  const distinct = [...new Set(patterns)]
  const spelled = distinct.map((pattern) => Array.from(pattern))
  const matchers = distinct.map(createNameMatcher)
  const letters = [...new Set(spelled.flat())].filter((letter) => letter !== '*')
  const alphabet = [unusedLetter(letters), ...letters]
  const classes = new Map<string, string>()
  const start: PatternState = spelled.map((pattern) => skipStars(pattern, [0]))
  const seen = new Set([JSON.stringify(start)])
  const queue: { readonly name: string; readonly state: PatternState }[] = [{ name: '', state: start }]
  // The queue grows while it is gone through.
  for (const { name, state } of queue) {
    for (const letter of alphabet) {
      const longer = name + letter
      const matched = matchers.map((matches) => matches(longer)).join()
      if (!classes.has(matched) && isValidName(longer)) classes.set(matched, longer)
      const next = spelled.map((pattern, index) => advancePattern(pattern, state[index] ?? [], letter))
      const key = JSON.stringify(next)
      if (seen.has(key)) continue
      seen.add(key)
      if (seen.size > maxStates) throw new RangeError('too many table patterns to analyze')
      queue.push({ name: longer, state: next })
    }
  }
  return [...classes.values()]
}

function advancePattern(
  pattern: readonly string[],
  locations: readonly number[],
  letter: string,
): readonly number[] {
  const next = locations.flatMap((location) => {
    if (pattern[location] === '*') return [location]
    return pattern[location] === letter ? [location + 1] : []
  })
  return skipStars(pattern, next)
}

/** A star may stand for nothing, so that a name is behind it at once. */
function skipStars(pattern: readonly string[], locations: readonly number[]): readonly number[] {
  const all = new Set(locations)
  for (const location of all) if (pattern[location] === '*') all.add(location + 1)
  return [...all].toSorted((one, other) => one - other)
}

function unusedLetter(letters: readonly string[]): string {
  const taken = new Set(letters)
  for (let code = 'x'.codePointAt(0) ?? 0; ; code++) {
    const letter = String.fromCodePoint(code)
    if (!taken.has(letter) && isValidName(letter)) return letter
  }
}

function isValidName(name: string): boolean {
  try {
    assertName(name, 'a name')
    return true
  } catch (error) {
    if (error instanceof CatalogError) return false
    throw error
  }
}
