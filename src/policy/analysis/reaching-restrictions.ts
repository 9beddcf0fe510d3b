import type { Identifier } from '../../catalog-api/identifiers.ts'
import { getOperation, isOperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import {
  describeRestriction,
  type RestrictionReport,
  type TableRestriction,
} from '../restrictions/restriction.ts'
import { resolveRestriction } from '../tags/object-tags.ts'
import { findTags, listTaggedTables } from './find-tags.ts'
import {
  createRuleReference,
  matchesAny,
  namespaceKey,
  type DocumentIndex,
  type ObjectPosition,
  type ReachingRule,
} from './reaching-rules.ts'

/** A restriction of some tables of a namespace. One by tags is one for each declared table, and one for all others. */
export interface ReachingRestriction extends ReachingRule {
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
  index: DocumentIndex,
  namespace: Identifier,
  taggedTables = listTaggedTables(index, namespace),
): readonly ReachingRestriction[] {
  return listRestricting(index, namespace).flatMap((reaching) => {
    const { rule } = reaching
    const tables = rule.tables ?? []
    const others = { namespace, table: undefined }
    if (!isByTag(reaching)) return [resolve(index, reaching, others)]
    const declared = taggedTables.filter((table) => matchesAny(tables, table))
    const ofTables = declared.map((table) =>
      resolve(index, { ...reaching, rule: { ...rule, tables: [table] } }, { namespace, table }),
    )
    const otherTables = tables.filter((table) => table.includes('*') || !declared.includes(table))
    if (otherTables.length === 0) return ofTables
    const ofOthers = resolve(index, { ...reaching, rule: { ...rule, tables: otherTables } }, others)
    return [...ofTables, { ...ofOthers, exceptTables: declared }]
  })
}

/** Returns the restrictions of a table that leave a part of it to the permission. They deny all others. */
export function restrictionsReaching(
  index: DocumentIndex,
  position: ObjectPosition,
  permission: Permission,
): readonly ReachingRestriction[] {
  const { namespace, table } = position
  if (table === undefined || !readsPart(permission)) return []
  return listRestricting(index, namespace)
    .filter(({ rule }) => matchesAny(rule.tables ?? [], table))
    .map((reaching) => resolve(index, reaching, position))
}

type RestrictingRule = ReachingRule & { readonly rule: Required<Pick<ReachingRule['rule'], 'restriction'>> }

function listRestricting(index: DocumentIndex, namespace: Identifier): readonly RestrictingRule[] {
  return (index.get(namespaceKey(namespace)) ?? []).flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { restriction } = rule
      if (restriction === undefined) return []
      return [{ document, rule: { ...rule, restriction }, obstacle: undefined, implication: undefined }]
    }),
  )
}

function isByTag({ rule }: RestrictingRule): boolean {
  return 'without' in rule.restriction.columns
}

function resolve(
  index: DocumentIndex,
  reaching: RestrictingRule,
  position: ObjectPosition,
): ReachingRestriction {
  const restriction = resolveRestriction(reaching.rule.restriction, findTags(index, position))
  return { ...reaching, restriction }
}

/** Describes a restriction for JSON. */
export function createRestrictionReport(reaching: ReachingRestriction): RestrictionReport {
  return describeRestriction({ ...reaching.restriction, rule: createRuleReference(reaching) })
}
