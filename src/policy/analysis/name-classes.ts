import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { assertName } from '../../catalog-api/identifiers.ts'
import { createNameMatcher } from '../conditions/name-pattern.ts'

/** State of matching a name against all patterns: for each pattern, the positions that the name can have reached. */
type PatternState = readonly (readonly number[])[]

const maxStates = 20_000

/**
 * Returns one name for every set of patterns that some valid name matches, so that they represent all names. Searches
 * breadth-first over positions in the patterns; one letter represents all letters in no pattern. Throws RangeError if
 * there are too many states.
 */
export function representativeNames(patterns: readonly string[]): readonly string[] {
  const distinct = [...new Set(patterns)]
  const characters = distinct.map((pattern) => Array.from(pattern))
  const matchers = distinct.map(createNameMatcher)
  const letters = [...new Set(characters.flat())].filter((letter) => letter !== '*')
  const alphabet = [unusedLetter(letters), ...letters]
  const classes = new Map<string, string>()
  const start: PatternState = characters.map((pattern) => skipStars(pattern, [0]))
  const seen = new Set([JSON.stringify(start)])
  const queue: { readonly name: string; readonly state: PatternState }[] = [{ name: '', state: start }]
  // The queue grows during the iteration.
  for (const { name, state } of queue) {
    for (const letter of alphabet) {
      const longer = name + letter
      const matched = matchers.map((matches) => matches(longer)).join()
      if (!classes.has(matched) && isValidName(longer)) classes.set(matched, longer)
      const next = characters.map((pattern, index) => advancePattern(pattern, state[index] ?? [], letter))
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
  positions: readonly number[],
  letter: string,
): readonly number[] {
  const next = positions.flatMap((position) => {
    if (pattern[position] === '*') return [position]
    return pattern[position] === letter ? [position + 1] : []
  })
  return skipStars(pattern, next)
}

/** A star may match nothing, so the position after it is reached at once. */
function skipStars(pattern: readonly string[], positions: readonly number[]): readonly number[] {
  const all = new Set(positions)
  for (const position of all) if (pattern[position] === '*') all.add(position + 1)
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
