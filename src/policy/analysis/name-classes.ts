import type { Identifier } from '../../catalog-api/identifiers.ts'
import { createNameMatcher } from '../conditions/name-pattern.ts'
import type { PolicyRule } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { listOwnDocuments } from './steps.ts'

/**
 * Returns names that represent the tables of a namespace: the declared tables, one name for each pattern of its rules, and
 * one for each overlap of a pattern of an allow and one of a deny. In each, `*` is a letter that no pattern has, so that
 * another pattern matches the name only if it matches every name of its kind: of all names that one rule allows, or that two
 * decide about, it is the one about which the fewest others decide.
 */
export function listNameClasses(sets: readonly PolicySet[], namespace: Identifier): readonly string[] {
  const rules = sets.flatMap((set) => listOwnDocuments(set, namespace).flatMap((one) => one.rules))
  const patternsOf = (effect: PolicyRule['effect']): ReadonlySet<string> =>
    new Set(rules.flatMap((rule) => (rule.effect === effect ? (rule.tables ?? []) : [])))
  const [allows, denies] = [patternsOf('allow'), patternsOf('deny')]
  const overlaps = [...allows].flatMap((one) => [...denies].flatMap((other) => intersectPatterns(one, other)))
  const patterns = [...new Set([...allows, ...denies, ...overlaps])]
  const letter = unusedLetter(patterns.join(''))
  // Names that match the same patterns are decided alike.
  const matchers = [...new Set([...allows, ...denies])].map(createNameMatcher)
  const names = new Map<string, string>()
  for (const pattern of patterns) {
    const name = pattern.replaceAll('*', letter)
    const matching = matchers.map((matches) => (matches(name) ? 1 : 0)).join('')
    if (!names.has(matching)) names.set(matching, name)
  }
  return [...new Set([...names.values(), ...sets.flatMap((set) => set.listTaggedTables(namespace))])]
}

/** Interleavings of patterns with many `*` would be too many; names in the others are names of both patterns, too. */
const maxOverlaps = 100

/** Returns patterns that together match the names that both patterns match. */
export function intersectPatterns(one: string, other: string): readonly string[] {
  const [first, second] = [Array.from(one), Array.from(other)]
  const found = new Map<number, readonly string[]>()

  function intersect(at: number, by: number): readonly string[] {
    const key = at * (second.length + 1) + by
    let overlaps = found.get(key)
    if (overlaps === undefined) found.set(key, (overlaps = compute(at, by)))
    return overlaps
  }

  function compute(at: number, by: number): readonly string[] {
    const [letter, next] = [first[at], second[by]]
    if (letter === undefined && next === undefined) return ['']
    const ends = [
      ...(letter === '*' ? intersect(at + 1, by) : []),
      ...(next === '*' ? intersect(at, by + 1) : []),
    ]
    if (letter === '*' && next === '*') return prefix('*', ends)
    if (letter === '*') return [...ends, ...(next === undefined ? [] : prefix(next, intersect(at, by + 1)))]
    if (next === '*') return [...ends, ...(letter === undefined ? [] : prefix(letter, intersect(at + 1, by)))]
    return letter === next ? prefix(letter ?? '', intersect(at + 1, by + 1)) : []
  }

  return intersect(0, 0)
}

function prefix(letter: string, patterns: readonly string[]): readonly string[] {
  const longer = patterns.map((pattern) =>
    letter === '*' && pattern.startsWith('*') ? pattern : letter + pattern,
  )
  return [...new Set(longer)].slice(0, maxOverlaps)
}

/** All letters are valid in names. */
function unusedLetter(text: string): string {
  for (let code = 'x'.codePointAt(0) ?? 0; ; code++) {
    const letter = String.fromCodePoint(code)
    if (/\p{L}/u.test(letter) && !text.includes(letter)) return letter
  }
}
