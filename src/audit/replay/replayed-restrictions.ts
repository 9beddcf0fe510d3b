import { findOperation } from '../../catalog-api/operations.ts'
import { restrictionsReaching } from '../../policy/analysis/reaching-restrictions.ts'
import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import { objectPosition } from '../../policy/engine/object-position.ts'
import { matchSubjects, type KnownCaller } from '../../policy/engine/subject.ts'
import type { PolicySet } from '../../policy/policy-set.ts'
import { qualifiedRuleName } from '../../policy/testing/decision-test.ts'
import type { RecordedCall } from './recorded-permissions.ts'

/** Restrictions of a read, as `policy/rule`, if those of other policies have other names. */
export interface ReplayedRestrictions {
  /** Those in the record. */
  readonly before: readonly string[]
  readonly after: readonly string[]
  /** Those that depend on who the caller is, which the record does not say. */
  readonly possible: readonly string[]
}

/**
 * Compares the restrictions of a recorded call by name; undefined if they are the same. What it asked for is not in the log, so
 * whether a restriction would refuse it is not known.
 */
export function replayRestrictions(
  { operation, id, restrictedBy = [] }: RecordedCall,
  candidate: PolicySet,
  caller: KnownCaller,
): ReplayedRestrictions | undefined {
  const definition = findOperation(operation)
  if (definition === undefined) return undefined
  const matches = restrictionsReaching(candidate, objectPosition(definition.object, id), definition.name).map(
    (reaching) => ({
      name: qualifiedRuleName(createRuleReference(reaching)),
      match: matchSubjects(reaching.rule.subjects, caller),
    }),
  )
  const before = restrictedBy.map(qualifiedRuleName)
  const certain = matches.flatMap(({ name, match }) => (match === true ? [name] : []))
  const open = matches.flatMap(({ name, match }) => (typeof match === 'boolean' ? [] : [name]))
  // A restriction of the record named the caller.
  const after = [...certain, ...open.filter((name) => before.includes(name))]
  const possible = open.filter((name) => !before.includes(name))
  const isSame =
    possible.length === 0 && after.length === before.length && before.every((name) => after.includes(name))
  return isSame ? undefined : { before, after, possible }
}
