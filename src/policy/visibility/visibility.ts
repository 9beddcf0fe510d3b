import { LRUCache } from 'lru-cache'
import type { Principal } from '../../identity/principal.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import {
  noKnownConditions,
  type Evaluation,
  type CompiledRule,
  type KnownConditions,
} from '../engine/compiled-rule.ts'
import type { Allowed } from '../engine/decision.ts'
import { describePermissions } from './describe-permission.ts'
import { createConditionPrecomputer, type PrecomputedConditions } from './precomputed-conditions.ts'
import { indexGrants, type RuleAtNode } from './grants-beneath.ts'
import { decisiveRule, nearestNode, type PolicyNode } from '../engine/policy-node.ts'
import type { RequestFacts } from '../conditions/authorization-request.ts'
import type { NumberedCaller, SubjectNumbers } from '../engine/subject-numbers.ts'

/** What can be seen. */
type VisibleKind = 'namespace' | 'table'

/** Who looks, and with what request. */
export interface Viewer {
  readonly principal: Principal
  readonly request: RequestFacts
}

/** A viewer and the namespace that he looks at. */
export interface NamespaceViewer extends Viewer {
  readonly id: Identifier
}

/** Whether a listing shows an object to a viewer. */
export type IsVisible = (kind: VisibleKind, id: Identifier) => boolean

/** Tells who sees what. */
export interface Visibility {
  /** What listings show to a viewer. */
  visibilityFor(viewer: Viewer): IsVisible
  /** The decision that makes something beneath a namespace visible. */
  findVisibleBeneath(visibility: NamespaceViewer): Allowed | undefined
}

const describingPermissions = [describePermissions.namespace.permission, describePermissions.table.permission]

/** A viewer, and what conditions say of the request; `metCondition` where another one was asked. */
interface ViewerState extends Viewer {
  readonly caller: NumberedCaller
  readonly knownConditions: Readonly<Record<VisibleKind, KnownConditions>>
  evaluatedCondition: boolean
}

/** What can be remembered of a namespace: whether it is seen, what lies in those beneath that no policy speaks of, tables. */
const cacheSlots = { itself: 0, beneath: 1, table: 2 } as const
const slotsPerNode = Object.keys(cacheSlots).length
const [seen, unseen] = [1, 2]
const maxCacheBytes = 32 * 1024 * 1024

/** Tells who sees what, by the rules of a tree; its nodes are in the order of their numbers. */
export function createVisibility(
  root: PolicyNode,
  nodes: readonly PolicyNode[],
  subjects: SubjectNumbers,
): Visibility {
  const rules = findDescribeRules(nodes)
  // Where the names of tables, and where ids, tell apart what is seen and what is not.
  const tellingTables = nodesWithRule(rules, ({ tables }) => tables !== undefined)
  const tellingIds = withSubtrees(
    nodesWithRule(rules, ({ condition }) => condition?.readsId === true),
    nodes,
  )
  const grantsBeneath = indexGrants(rules)
  const askBeforehand = createConditionPrecomputer(rules)
  // By callers whom all rules take for the same, and what conditions say of their requests.
  const memory = new LRUCache<string, Uint8Array>({
    maxSize: maxCacheBytes,
    sizeCalculation: ({ length }, key) => length + key.length,
  })

  function visibilityFor(viewer: Viewer): IsVisible {
    const caller = subjects.resolveCaller(viewer.principal)
    const [namespace, table] = [stated('namespace', viewer, caller), stated('table', viewer, caller)]
    const looker: ViewerState = {
      ...viewer,
      caller,
      knownConditions: { namespace: namespace.results, table: table.results },
      evaluatedCondition: false,
    }
    const lasting = memoryOf([caller.key, namespace.key, table.key].join(';'))
    // What cannot be remembered for other requests, as a condition was asked that was not asked beforehand.
    const passing = new Map<number, boolean>()
    return (kind, id) => {
      const depth = kind === 'table' ? id.length - 1 : id.length
      const node = nearestNode(root, id, depth)
      const isThere = node.depth === depth
      if (kind === 'table' && isThere && tellingTables.has(node)) return poll(kind, id, node, looker)
      const location = slotsPerNode * node.index + cacheSlots[cacheSlotFor(kind, isThere)]
      if (lasting[location] !== 0) return lasting[location] === seen
      const before = tellingIds.has(node) ? undefined : passing.get(location)
      if (before !== undefined) return before
      looker.evaluatedCondition = false
      const shows = poll(kind, id, node, looker)
      if (looker.evaluatedCondition) passing.set(location, shows)
      else lasting[location] = shows ? seen : unseen
      return shows
    }
  }

  function stated(
    kind: VisibleKind,
    { principal, request }: Viewer,
    caller: NumberedCaller,
  ): PrecomputedConditions {
    return askBeforehand({ principal, kind, id: undefined, request, ...describePermissions[kind] }, caller)
  }

  function memoryOf(key: string): Uint8Array {
    let lasting = memory.get(key)
    if (lasting === undefined) memory.set(key, (lasting = new Uint8Array(slotsPerNode * nodes.length)))
    return lasting
  }

  function poll(kind: VisibleKind, id: Identifier, node: PolicyNode, viewer: ViewerState): boolean {
    const table = kind === 'table' ? id.at(-1) : undefined
    const depth = kind === 'table' ? id.length - 1 : id.length
    // The branch is pending: a table is shown to callers who may describe one.
    if (allowedOn(node, kind, viewer, { id, table, depth }) !== undefined) return true
    return kind === 'namespace' && beneath(id, node, viewer) !== undefined
  }

  function findVisibleBeneath({ id, principal, request }: NamespaceViewer): Allowed | undefined {
    const stated = { namespace: noKnownConditions, table: noKnownConditions }
    const viewer = {
      principal,
      request,
      caller: subjects.resolveCaller(principal),
      knownConditions: stated,
      evaluatedCondition: false,
    }
    return beneath(id, nearestNode(root, id, id.length), viewer)
  }

  function beneath(id: Identifier, node: PolicyNode, viewer: ViewerState): Allowed | undefined {
    const reaching = allowedSomewhere(node, viewer)
    // Where no policy speaks of the namespace, none speaks of what is beneath it.
    if (reaching !== undefined || node.depth < id.length) return reaching
    for (const grant of grantsBeneath(node, viewer.caller)) {
      const allowed = allowedBy(grant, viewer)
      if (allowed !== undefined) return allowed
    }
    return undefined
  }

  return { visibilityFor, findVisibleBeneath }
}

/**
 * The decision that lets the caller describe something that a rule speaks of. Of a pattern one name stands for all:
 * the one that no other pattern matches unless it matches everything that this one does.
 */
function allowedBy({ rule, node }: RuleAtNode, viewer: ViewerState): Allowed | undefined {
  if (rule.sampleNames === undefined) return allowedSomewhere(node, viewer)
  for (const table of rule.sampleNames) {
    const what = { id: undefined, table, depth: node.depth }
    const allowed = allowedOn(node, 'table', viewer, what)
    if (allowed !== undefined) return allowed
  }
  return undefined
}

/**
 * The decision that lets the caller describe what lies deeper and no policy speaks of. What it is called is not
 * known: a condition that asks counts for the caller.
 */
function allowedSomewhere(node: PolicyNode, viewer: ViewerState): Allowed | undefined {
  const what = { id: undefined, table: undefined, depth: node.depth + 1 }
  return allowedOn(node, 'table', viewer, what) ?? allowedOn(node, 'namespace', viewer, what)
}

function allowedOn(
  node: PolicyNode,
  kind: VisibleKind,
  viewer: ViewerState,
  { id, table, depth }: Pick<Evaluation, 'table' | 'depth'> & Pick<Evaluation['input'], 'id'>,
): Allowed | undefined {
  const { principal, request, caller } = viewer
  const knownConditions = viewer.knownConditions[kind]
  const { permission, operation } = describePermissions[kind]
  const input = { principal, permission, kind, id, request, operation }
  const requested: Evaluation = {
    input,
    caller,
    table,
    depth,
    assumption: 'best',
    knownConditions,
    evaluatedCondition: false,
    foundPending: false,
  }
  const decision = decisiveRule(node, requested)?.decision
  viewer.evaluatedCondition ||= requested.evaluatedCondition
  return decision?.allowed === true ? decision : undefined
}

function cacheSlotFor(kind: VisibleKind, isThere: boolean): keyof typeof cacheSlots {
  if (kind === 'table') return 'table'
  return isThere ? 'itself' : 'beneath'
}

function findDescribeRules(nodes: readonly PolicyNode[]): readonly RuleAtNode[] {
  const located: RuleAtNode[] = []
  for (const node of nodes) {
    for (const rule of node.rules) {
      if (describingPermissions.some((permission) => rule.permissions.has(permission)))
        located.push({ rule, node })
    }
  }
  return located
}

function nodesWithRule(
  rules: readonly RuleAtNode[],
  is: (rule: CompiledRule) => boolean,
): ReadonlySet<PolicyNode> {
  return new Set(rules.filter(({ rule }) => is(rule)).map(({ node }) => node))
}

function withSubtrees(tops: ReadonlySet<PolicyNode>, nodes: readonly PolicyNode[]): ReadonlySet<PolicyNode> {
  if (tops.size === 0) return tops
  const all = new Set(tops)
  for (const node of nodes) if (node.parent !== undefined && all.has(node.parent)) all.add(node)
  return all
}
