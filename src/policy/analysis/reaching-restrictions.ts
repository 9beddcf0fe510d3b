import type { Identifier } from '../../catalog-api/identifiers.ts'
import { getOperation, isOperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import {
  describeRestriction,
  type RestrictionReport,
  type TableRestriction,
} from '../restrictions/restriction.ts'
import { resolveRestriction } from '../tags/object-tags.ts'
import { matchesAny } from '../conditions/name-pattern.ts'
import { createRuleReference, type LocatedRule } from '../engine/compiled-rule.ts'
import type { ObjectPosition } from '../engine/object-position.ts'
import type { PolicySet } from '../policy-set.ts'

/** A restriction of some tables of a namespace. One by tags is one for each declared table, and one for all others. */
export interface ReachingRestriction extends LocatedRule {
  readonly restriction: TableRestriction
  /** If it is that for all others: the declared tables, which its patterns may match. */
  readonly exceptTables?: readonly string[]
}

/** Whether restrictions leave a part of a table to the permission. */
export function readsPart(permission: Permission): boolean {
  return isOperationName(permission) && getOperation(permission).readsPart !== undefined
}

/** Returns the restrictions of tables of a namespace. Those by tags are listed for each of the tables that they match. */
export function listRestrictions(
  set: PolicySet,
  namespace: Identifier,
  taggedTables = set.listTaggedTables(namespace),
): readonly ReachingRestriction[] {
  return listRestricting(set, namespace).flatMap((reaching) => {
    const { rule } = reaching
    const tables = rule.tables ?? []
    const others = { namespace, table: undefined }
    if (!isByTag(reaching)) return [resolve(set, reaching, others)]
    const declared = taggedTables.filter((table) => matchesAny(tables, table))
    const ofTables = declared.map((table) =>
      resolve(set, { ...reaching, rule: { ...rule, tables: [table] } }, { namespace, table }),
    )
    const otherTables = tables.filter((table) => table.includes('*') || !declared.includes(table))
    if (otherTables.length === 0) return ofTables
    const ofOthers = resolve(set, { ...reaching, rule: { ...rule, tables: otherTables } }, others)
    return [...ofTables, { ...ofOthers, exceptTables: declared }]
  })
}

/** Returns the restrictions of a table that leave a part of it to the permission. They deny all others. */
export function restrictionsReaching(
  set: PolicySet,
  position: ObjectPosition,
  permission: Permission,
): readonly ReachingRestriction[] {
  const { namespace, table } = position
  if (table === undefined || !readsPart(permission)) return []
  return listRestricting(set, namespace)
    .filter(({ rule }) => matchesAny(rule.tables ?? [], table))
    .map((reaching) => resolve(set, reaching, position))
}

type RestrictingRule = LocatedRule & { readonly rule: Required<Pick<LocatedRule['rule'], 'restriction'>> }

function listRestricting(set: PolicySet, namespace: Identifier): readonly RestrictingRule[] {
  return set.documentsAbove(namespace).flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { restriction } = rule
      if (restriction === undefined || document.namespace.length < namespace.length) return []
      return [{ document, rule: { ...rule, restriction } }]
    }),
  )
}

function isByTag({ rule }: RestrictingRule): boolean {
  return 'without' in rule.restriction.columns
}

function resolve(set: PolicySet, reaching: RestrictingRule, position: ObjectPosition): ReachingRestriction {
  const restriction = resolveRestriction(reaching.rule.restriction, set.findTags(position))
  return { ...reaching, restriction }
}

/** Describes a restriction for JSON. */
export function createRestrictionReport(reaching: ReachingRestriction): RestrictionReport {
  return describeRestriction({ ...reaching.restriction, rule: createRuleReference(reaching) })
}
