import type { Identifier } from '../../catalog-api/identifiers.ts'
import { matchesAny } from '../conditions/name-pattern.ts'
import { createRuleReference, type LocatedRule } from '../engine/compiled-rule.ts'
import type { PolicySet } from '../policy-set.ts'
import {
  describeRestriction,
  type RestrictionReport,
  type TableRestriction,
} from '../restrictions/restriction.ts'
import { resolveRestriction } from '../tags/object-tags.ts'
import { listOwnDocuments } from './steps.ts'

/** A restriction of some tables of a namespace. One by tags is one for each declared table, and one for all others. */
export interface ReachingRestriction extends LocatedRule {
  readonly restriction: TableRestriction
  /** If it is that for all others: the declared tables, which its patterns may match. */
  readonly exceptTables?: readonly string[]
}

/** Returns the restrictions of tables of a namespace. Those by tags are listed for each of the tables that they match. */
export function listRestrictions(
  set: PolicySet,
  namespace: Identifier,
  taggedTables = set.listTaggedTables(namespace),
): readonly ReachingRestriction[] {
  return listOwnDocuments(set, namespace).flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { restriction, tables = [] } = rule
      if (restriction === undefined) return []
      const resolve = (ofTables: readonly string[], table?: string): ReachingRestriction => ({
        document,
        rule: { ...rule, tables: ofTables },
        restriction: resolveRestriction(restriction, set.findTags({ namespace, table })),
      })
      if (!('without' in restriction.columns)) return [resolve(tables)]
      const declared = taggedTables.filter((table) => matchesAny(tables, table))
      const others = tables.filter((table) => table.includes('*') || !declared.includes(table))
      return [
        ...declared.map((table) => resolve([table], table)),
        ...(others.length === 0 ? [] : [{ ...resolve(others), exceptTables: declared }]),
      ]
    }),
  )
}

/** Describes a restriction for JSON. */
export function createRestrictionReport(
  reaching: Pick<ReachingRestriction, 'document' | 'rule' | 'restriction'>,
): RestrictionReport {
  return describeRestriction({ ...reaching.restriction, rule: createRuleReference(reaching) })
}
