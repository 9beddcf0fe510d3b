import type { Identifier } from '../../catalog-api/index.ts'
import { createNameMatcher, sampleName } from '../conditions/name-pattern.ts'
import type { ObjectPosition } from '../engine/object-position.ts'
import type { PolicyRule } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { listOwnDocuments } from './steps.ts'

/** Returns positions that represent all in a namespace: itself with all beneath, and its tables. */
export function listPositionClasses(
  sets: readonly PolicySet[],
  namespace: Identifier,
): readonly ObjectPosition[] {
  return [undefined, ...listNameClasses(sets, namespace)].map((table) => ({ namespace, table }))
}

/**
 * Returns names that represent the tables of a namespace: the declared tables, one name for each pattern of its rules, and
 * one for each overlap of a pattern of an allow and one of a deny. In each, `*` is a letter that no pattern has, so that
 * another pattern matches the name only if it matches every name of its kind: of all names that one rule allows, or that two
 * decide about, it is the one about which the fewest others decide.
 */
function listNameClasses(sets: readonly PolicySet[], namespace: Identifier): readonly string[] {
  const rules = sets.flatMap((set) => listOwnDocuments(set, namespace).flatMap((one) => one.rules))
  const patternsOf = (effect: PolicyRule['effect']): ReadonlySet<string> =>
    new Set(rules.flatMap((rule) => (rule.effect === effect ? (rule.tables ?? []) : [])))
  const [allows, denies] = [patternsOf('allow'), patternsOf('deny')]
  const own = [...new Set([...allows, ...denies])]
  const overlaps = [...allows].flatMap((one) => [...denies].flatMap((other) => overlapPatterns(one, other)))
  const letter = unusedLetter(own.join(''))
  // Names that match the same patterns are decided alike.
  const matchers = own.map(createNameMatcher)
  const names = new Map<string, string>()
  for (const pattern of [...own, ...overlaps]) {
    const name = pattern.replaceAll('*', letter)
    const matching = matchers.map((matches) => (matches(name) ? 1 : 0)).join('')
    if (!names.has(matching)) names.set(matching, name)
  }
  return [...new Set([...names.values(), ...sets.flatMap((set) => set.listTaggedTables(namespace))])]
}

/**
 * Returns patterns of names that both patterns match, with their inner parts in either order; none if no name matches both.
 */
export function overlapPatterns(one: string, other: string): readonly string[] {
  const [[first = '', ...inner], [otherFirst = '', ...otherInner]] = [one.split('*'), other.split('*')]
  const [last = '', otherLast = ''] = [inner.pop(), otherInner.pop()]
  const join = (...parts: readonly string[]): string =>
    [longer(first, otherFirst), ...parts, longer(last, otherLast)].join('*')
  const candidates =
    one.includes('*') && other.includes('*')
      ? [join(...inner, ...otherInner), join(...otherInner, ...inner)]
      : [one, other]
  return candidates.filter((pattern) =>
    [one, other].every((whole) => createNameMatcher(whole)(sampleName(pattern))),
  )
}

function longer(one: string, other: string): string {
  return one.length < other.length ? other : one
}

/** All letters are valid in names. */
function unusedLetter(text: string): string {
  for (let code = 'x'.codePointAt(0) ?? 0; ; code++) {
    const letter = String.fromCodePoint(code)
    if (/\p{L}/u.test(letter) && !text.includes(letter)) return letter
  }
}
