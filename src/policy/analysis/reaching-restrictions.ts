import type { Identifier } from '../../catalog-api/identifiers.ts'
import { matchesAny } from '../conditions/name-pattern.ts'
import { createRuleReference } from '../engine/compiled-rule.ts'
import type { Subjects } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { describeRestriction, type RestrictionReport } from '../restrictions/restriction.ts'
import { resolveRestriction } from '../tags/object-tags.ts'
import { listOwnDocuments } from './steps.ts'

/** A restriction of some tables of a namespace. One by tags is one for each declared table, and one for all others. */
export interface ReachingRestriction extends RestrictionReport {
  readonly tables: readonly string[]
  /** If it is that for all others: the declared tables, which its patterns may match. */
  readonly exceptTables?: readonly string[]
}

/** Returns the restrictions of tables of a namespace. Those by tags are listed for each of the tables that they match. */
export function listRestrictions(
  set: PolicySet,
  namespace: Identifier,
  concerns: (subjects: Subjects) => boolean = () => true,
): readonly ReachingRestriction[] {
  return listOwnDocuments(set, namespace).flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { restriction, subjects, tables = [] } = rule
      if (restriction === undefined || !concerns(subjects)) return []
      const reference = createRuleReference({ document, rule })
      const resolve = (ofTables: readonly string[], table?: string): ReachingRestriction => {
        const resolved = resolveRestriction(restriction, set.findTags({ namespace, table }))
        return { ...describeRestriction({ ...resolved, rule: reference }), tables: ofTables }
      }
      if (!('without' in restriction.columns)) return [resolve(tables)]
      const declared = set.listTaggedTables(namespace).filter((table) => matchesAny(tables, table))
      const others = tables.filter((table) => table.includes('*') || !declared.includes(table))
      return [
        ...declared.map((table) => resolve([table], table)),
        ...(others.length === 0 ? [] : [{ ...resolve(others), exceptTables: declared }]),
      ]
    }),
  )
}
