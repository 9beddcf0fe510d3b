import type { Principal } from '../identity/principal.ts'
import type { Identifier } from '../interface/identifiers.ts'
import type { Permission } from '../interface/permissions.ts'
import type { Allowed, Decision } from './decision.ts'
import { decisiveRule } from './decisive-rule.ts'
import { bitOf, bitsOf, meet } from './permission-bits.ts'
import { nearest, subtree, type PolicyNode } from './policy-node.ts'
import { noFacts, type EarlyQuestion, type OperationFacts, type RequestFacts } from './question.ts'
import type { CompiledRule } from './rule-index.ts'

/** What can be seen. */
type Kind = 'namespace' | 'table'

/** Who looks, and with what request. */
export interface Viewer {
  readonly principal: Principal
  readonly request: RequestFacts
}

/** A viewer and the namespace that he looks at. */
export interface Sight extends Viewer {
  readonly id: Identifier
}

/** Whether a listing shows an object to a viewer. */
export type View = (kind: Kind, id: Identifier) => boolean

/** What is asked to know whether a listing shows an object: the description that anybody else would ask for. */
const describing: Readonly<
  Record<Kind, { readonly permission: Permission; readonly operation: OperationFacts }>
> = {
  namespace: { permission: 'DescribeNamespace', operation: noFacts },
  table: { permission: 'DescribeTable', operation: { ...noFacts, branch: 'main' } },
}
const describingBits = bitsOf(new Set(Object.values(describing).map(({ permission }) => permission)))

/** Tells who sees what, from the policies below that root and what they decide. */
export function visibilityOf(root: PolicyNode, decide: (question: EarlyQuestion) => Decision) {
  const indexes = new WeakMap<PolicyNode, GrantIndex>()
  const names = new WeakMap<PolicyNode, TellingNames>()

  function viewOf({ principal, request }: Viewer): View {
    const known: Readonly<Record<Kind, Map<PolicyNode, boolean>>> = { namespace: new Map(), table: new Map() }
    const look: View = (kind, id) => {
      const { permission, operation } = describing[kind]
      if (decide({ principal, permission, kind, id, request, operation }).allowed) return true
      return kind === 'namespace' && showsBeneath({ principal, request, id }) !== undefined
    }
    return (kind, id) => {
      const depth = kind === 'table' ? id.length - 1 : id.length
      const node = nearest(root, id, depth)
      if (dependsOnName(node, kind, node.depth === depth)) return look(kind, id)
      const seen = known[kind].get(node) ?? look(kind, id)
      known[kind].set(node, seen)
      return seen
    }
  }

  /** Whether what is nearest to the namespace tells apart objects by their names: if not, one look is enough. */
  function dependsOnName(node: PolicyNode, kind: Kind, isThere: boolean): boolean {
    let telling = names.get(node)
    if (telling === undefined) names.set(node, (telling = namesIn(node)))
    return telling.inConditions || (isThere && (kind === 'namespace' || telling.ofTables))
  }

  function showsBeneath(sight: Sight): Allowed | undefined {
    const node = nearest(root, sight.id, sight.id.length)
    const reaching = allowedOn(node, 'table', sight) ?? allowedOn(node, 'namespace', sight)
    // Where no policy speaks of the namespace, none speaks of what is beneath it.
    if (reaching !== undefined || node.depth < sight.id.length) return reaching
    let index = indexes.get(node)
    if (index === undefined) indexes.set(node, (index = grantsBeneath(node)))
    for (const grants of grantsFor(index, sight.principal)) {
      for (const grant of grants) {
        const allowed = allowedBy(grant, sight)
        if (allowed !== undefined) return allowed
      }
    }
    return undefined
  }

  return { viewOf, showsBeneath }
}

/**
 * The decision that lets the caller describe something that a rule speaks of. Of a pattern one name stands for all:
 * the one that no other pattern matches unless it matches everything that this one does.
 */
function allowedBy({ rule, node }: Grant, sight: Sight): Allowed | undefined {
  if (rule.samples === undefined) {
    return allowedOn(node, 'table', sight) ?? allowedOn(node, 'namespace', sight)
  }
  for (const sample of rule.samples) {
    const allowed = allowedOn(node, 'table', sight, sample)
    if (allowed !== undefined) return allowed
  }
  return undefined
}

/**
 * The decision that lets the caller describe a table of that name in the namespace, or without a name what lies
 * deeper and no policy speaks of. What it is called is not known: a condition that asks counts for the caller.
 */
function allowedOn(
  node: PolicyNode,
  kind: Kind,
  { principal, request }: Viewer,
  table?: string,
): Allowed | undefined {
  const { permission, operation } = describing[kind]
  const inquiry = { principal, permission, kind, id: undefined, request, operation }
  const depth = table === undefined ? node.depth + 1 : node.depth
  const rule = decisiveRule(node, { inquiry, bit: bitOf(permission), table, depth, outlook: 'best' })
  return rule?.decision.allowed === true ? rule.decision : undefined
}

/** Whether rules on descriptions ask for names: those of a namespace for tables, those above, too, in conditions. */
interface TellingNames {
  readonly ofTables: boolean
  readonly inConditions: boolean
}

function namesIn(node: PolicyNode): TellingNames {
  let inConditions = false
  for (let above: PolicyNode | undefined = node; above !== undefined; above = above.parent) {
    inConditions ||= describingRules(above).some(({ condition }) => condition?.needs.object === true)
  }
  return { ofTables: describingRules(node).some(({ tables }) => tables !== undefined), inConditions }
}

function describingRules({ allows, denies }: PolicyNode): CompiledRule[] {
  return [...(allows?.rules ?? []), ...(denies?.rules ?? [])].filter((rule) => meet(rule, describingBits))
}

/** A rule that may let somebody see something, and the namespace that it stands in. */
interface Grant {
  readonly rule: CompiledRule
  readonly node: PolicyNode
}

/** What a namespace and those beneath it allow, by whom it concerns: nobody pays for the rules of others. */
interface GrantIndex {
  readonly any: Grant[]
  readonly users: Map<string, Grant[]>
  readonly groups: Map<string, Grant[]>
  readonly keys: Map<string, Grant[]>
}

function grantsBeneath(top: PolicyNode): GrantIndex {
  const index: GrantIndex = { any: [], users: new Map(), groups: new Map(), keys: new Map() }
  for (const node of subtree(top)) {
    for (const rule of node.allows?.rules ?? []) {
      if (!meet(rule, describingBits)) continue
      const grant = { rule, node }
      if (rule.subjects.any) index.any.push(grant)
      for (const list of ['users', 'groups', 'keys'] as const) {
        for (const name of rule.subjects[list]) {
          const grants = index[list].get(name)
          if (grants === undefined) index[list].set(name, [grant])
          else grants.push(grant)
        }
      }
    }
  }
  return index
}

/** What concerns the principal, exceptions aside: the fewer groups are looked up in the more. */
function grantsFor({ any, users, groups, keys }: GrantIndex, principal: Principal): (readonly Grant[])[] {
  const found: (readonly Grant[] | undefined)[] = [any, users.get(principal.name)]
  if (principal.method === 'api-key') found.push(keys.get(principal.credentialId))
  if (principal.groups.size < groups.size) {
    for (const group of principal.groups) found.push(groups.get(group))
  } else {
    for (const [group, grants] of groups) if (principal.groups.has(group)) found.push(grants)
  }
  return found.filter((grants) => grants !== undefined)
}
