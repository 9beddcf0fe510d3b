import type { CallerRestriction } from '../../policy/restrictions/restriction.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import {
  assertMembersUnderstood,
  assertReadsNewest,
  restrictFilter,
  type MemberChanges,
} from './restricted-read.ts'

const understood: ReadonlySet<string> = new Set(['id', 'context', 'predicate', 'version', 'branch'])

/** Restricts a count to visible rows. Throws InvalidInput (400). */
export function restrictCount(count: JsonObject, restriction: CallerRestriction): MemberChanges {
  assertMembersUnderstood(count, understood)
  assertReadsNewest(count)
  return new Map([['predicate', restrictFilter('predicate', count['predicate'], restriction)]])
}
