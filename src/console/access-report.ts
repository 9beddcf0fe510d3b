import { formatIdentifierText } from '../catalog-api/identifier-text.ts'
import type { Identifier } from '../catalog-api/identifiers.ts'
import { isInNamespace } from '../catalog-api/requirements.ts'
import { isExtraOperationName, permissionGroups, type Permission } from '../catalog-api/permissions.ts'
import type { RuleReference } from '../policy/engine/decision.ts'
import { objectKindOfPermission, readsPart } from '../policy/engine/object-position.ts'
import type { PolicyDocument } from '../policy/language/policy-document.ts'
import { createRuleReference } from '../policy/engine/compiled-rule.ts'
import type { PolicySet } from '../policy/policy-set.ts'
import type { RestrictionReport } from '../policy/restrictions/restriction.ts'
import { listRestrictions } from '../policy/analysis/what-can.ts'
import { listOwnDocuments } from '../policy/analysis/steps.ts'
import { listPermissions } from '../policy/language/policy-vocabulary.ts'
import type { Subject } from '../policy/engine/subject.ts'
import { listTaggedColumns, whoCan, type Entitlement, type Sight } from '../policy/analysis/who-can.ts'

/** An operation that a caller may use, subject to conditions and to rules that may deny it. */
type Grant = { readonly operation: Permission } & Omit<Entitlement, 'subject'>

const disjointGroups = [...permissionGroups].filter(
  ([name]) => !['index', 'schema', 'read', 'change', 'all'].includes(name),
)

/** Maximum number of nodes shown; others can be requested by name. */
const maxNodes = 500

/** Lists the direct child namespaces that policies mention, and whether policies mention some beneath them. */
export function listNamespaces(documents: readonly PolicyDocument[], above: Identifier) {
  const found = new Map<string, { policies: string[]; hasChildren: boolean }>()
  for (const { namespace, name: policy } of documents) {
    const name = namespace[above.length]
    if (name === undefined || !above.every((part, index) => namespace[index] === part)) continue
    const node = found.get(name) ?? { policies: [], hasChildren: false }
    if (namespace.length === above.length + 1) node.policies.push(policy)
    else node.hasChildren = true
    found.set(name, node)
  }
  const nodes = [...found].map(([name, node]) => ({ name, ...node }))
  const sorted = nodes.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  return { nodes: sorted.slice(0, maxNodes), omitted: Math.max(0, sorted.length - maxNodes) }
}

/** A rule that additionally decides on tables of these names. */
interface TableRule {
  readonly rule: RuleReference
  readonly tables: readonly string[]
  readonly restriction?: RestrictionReport
}

/** As `policy who-can` does. For a namespace, operations on tables apply to any table in it, whatever its name. */
export function createAccessReport(set: PolicySet, kind: 'namespace' | 'table', id: Identifier) {
  const namespace = kind === 'namespace' ? id : id.slice(0, -1)
  const position = { namespace, table: kind === 'namespace' ? undefined : id.at(-1) }
  const callers = new Map<string, { subject: Subject; grants: Grant[] }>()
  const extra = listPermissions(set.documents).filter(isExtraOperationName)
  const shown = [...disjointGroups, ['extra operations', extra] as const].map(([name, permissions]) => ({
    name,
    operations: permissions.filter((permission) => appliesToKind(permission, kind)),
  }))
  for (const operation of shown.flatMap(({ operations }) => operations)) {
    for (const { subject, ...entitlement } of whoCan(set, operation, position).allowed) {
      const key = `${subject.kind} ${subject.name}`
      const caller = callers.get(key) ?? { subject, grants: [] }
      caller.grants.push({ operation, ...entitlement })
      callers.set(key, caller)
    }
  }
  return {
    /** The object, as commands read it. */
    id: formatIdentifierText(id),
    groups: shown.filter(({ operations }) => operations.length > 0),
    /** Of a table: its tagged columns. */
    columns: kind === 'table' ? listTaggedColumns(set, position) : [],
    callers: [...callers.values()].map((caller) => ({
      ...caller,
      /** Of a table: what a caller that is the subject and nothing else sees of it, at best. */
      sees: kind === 'table' ? findSight(caller.grants) : undefined,
    })),
    forTables:
      kind === 'namespace'
        ? [...listTableRules(set, namespace), ...listTableRestrictions(set, namespace)]
        : [],
  }
}

function findSight(grants: readonly Grant[]): Sight {
  const sights = new Set(grants.flatMap(({ operation, sees }) => (readsPart(operation) ? [sees] : [])))
  return (['all', 'part'] as const).find((sight) => sights.has(sight)) ?? 'nothing'
}

function appliesToKind(permission: Permission, kind: 'namespace' | 'table'): boolean {
  return kind === 'namespace' || isInNamespace(objectKindOfPermission(permission))
}

function listTableRules(set: PolicySet, namespace: Identifier): readonly TableRule[] {
  return listOwnDocuments(set, namespace).flatMap((document) =>
    document.rules.flatMap((rule) =>
      rule.tables === undefined || rule.restriction !== undefined
        ? []
        : [{ rule: createRuleReference({ document, rule }), tables: rule.tables }],
    ),
  )
}

function listTableRestrictions(set: PolicySet, namespace: Identifier): readonly TableRule[] {
  return listRestrictions(set, namespace).map((restriction) => {
    const { rule, tables } = restriction
    return { rule, tables, restriction }
  })
}
