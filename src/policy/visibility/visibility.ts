import { LRUCache } from 'lru-cache'
import type { Principal } from '../../identity/index.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { CompiledRule } from '../engine/compiled-rule.ts'
import { evaluate, resultKind } from '../engine/evaluate.ts'
import { noKnownConditions, type Evaluation, type KnownConditions } from '../engine/evaluation.ts'
import type { Allowed } from '../engine/decision.ts'
import { describePermissions } from './concealment.ts'
import { createConditionPrecomputer, type PrecomputedConditions } from './precomputed-conditions.ts'
import { indexGrants, type RuleAtNode } from './grants-beneath.ts'
import { getTags } from '../engine/node-tags.ts'
import { nearestNode, type PolicyNode } from '../engine/policy-node.ts'
import type { RequestFacts } from '../conditions/authorization-request.ts'
import { noTags } from '../tags/object-tags.ts'
import type { NumberedCaller, SubjectNumbers } from '../engine/subject-numbers.ts'

type VisibleKind = 'namespace' | 'table'

export interface Viewer {
  readonly principal: Principal
  readonly request: RequestFacts
}

export interface NamespaceViewer extends Viewer {
  readonly id: Identifier
}

/** Whether a listing shows an object to the viewer. */
export type IsVisible = (kind: VisibleKind, id: Identifier) => boolean

export interface Visibility {
  /** Returns a predicate for one request. Results are cached across requests. */
  visibilityFor(viewer: Viewer): IsVisible
  /** Returns the decision that makes an object beneath the namespace visible; undefined if none is. */
  findVisibleBeneath(viewer: NamespaceViewer): Allowed | undefined
}

const describingPermissions = [describePermissions.namespace.permission, describePermissions.table.permission]

/** A viewer with its precomputed conditions. `evaluatedCondition` is set when any other condition is evaluated. */
interface ViewerState extends Viewer {
  readonly caller: NumberedCaller
  readonly knownConditions: Readonly<Record<VisibleKind, KnownConditions>>
  evaluatedCondition: boolean
}

/** Per node: the namespace itself, namespaces beneath it without policies, and tables. */
const cacheSlots = { itself: 0, beneath: 1, table: 2 } as const
const slotsPerNode = Object.keys(cacheSlots).length
const [visible, hidden] = [1, 2]
const maxCacheBytes = 32 * 1024 * 1024

/** Creates the visibility of a policy tree. `nodes` are its nodes in the order of their indexes. */
export function createVisibility(
  root: PolicyNode,
  nodes: readonly PolicyNode[],
  subjects: SubjectNumbers,
): Visibility {
  const rules = findDescribeRules(nodes)
  // Nodes in which visibility depends on the names of tables, on ids, or on tags.
  const readsTags = rules.some(({ rule }) => rule.condition !== undefined && rule.condition.tags.length > 0)
  const taggedNodes = readsTags
    ? nodes.filter(({ documents }) => documents.some(({ tags }) => tags !== undefined))
    : []
  const tableDependentNodes = new Set([
    ...findNodesWithRule(rules, ({ tables }) => tables !== undefined),
    ...taggedNodes,
  ])
  const idDependentNodes = addSubtrees(
    findNodesWithRule(rules, ({ condition }) => condition?.readsId === true),
    nodes,
  )
  const grantsBeneath = indexGrants(rules)
  const precomputeConditions = createConditionPrecomputer(rules)
  // By caller key and results of the precomputed conditions.
  const cache = new LRUCache<string, Uint8Array>({
    maxSize: maxCacheBytes,
    sizeCalculation: ({ length }, key) => length + key.length,
  })

  function visibilityFor(viewer: Viewer): IsVisible {
    const caller = subjects.resolveCaller(viewer.principal)
    const [namespace, table] = [precompute('namespace', viewer, caller), precompute('table', viewer, caller)]
    const state: ViewerState = {
      ...viewer,
      caller,
      knownConditions: { namespace: namespace.results, table: table.results },
      evaluatedCondition: false,
    }
    const cached = cacheFor([caller.key, namespace.key, table.key].join(';'))
    // Results that are valid for this request only, because a condition that was not precomputed was evaluated.
    const uncacheable = new Map<number, boolean>()
    return (kind, id) => {
      const depth = kind === 'table' ? id.length - 1 : id.length
      const node = nearestNode(root, id, depth)
      const hasNode = node.depth === depth
      if (kind === 'table' && hasNode && tableDependentNodes.has(node))
        return computeVisibility(kind, id, node, state)
      const slot = slotsPerNode * node.index + cacheSlots[cacheSlotFor(kind, hasNode)]
      if (cached[slot] !== 0) return cached[slot] === visible
      const known = idDependentNodes.has(node) ? undefined : uncacheable.get(slot)
      if (known !== undefined) return known
      state.evaluatedCondition = false
      const isVisible = computeVisibility(kind, id, node, state)
      if (state.evaluatedCondition) uncacheable.set(slot, isVisible)
      else cached[slot] = isVisible ? visible : hidden
      return isVisible
    }
  }

  function precompute(
    kind: VisibleKind,
    { principal, request }: Viewer,
    caller: NumberedCaller,
  ): PrecomputedConditions {
    return precomputeConditions(
      { principal, kind, id: undefined, tags: noTags, request, ...describePermissions[kind] },
      caller,
    )
  }

  function cacheFor(key: string): Uint8Array {
    let cached = cache.get(key)
    if (cached === undefined) cache.set(key, (cached = new Uint8Array(slotsPerNode * nodes.length)))
    return cached
  }

  function computeVisibility(
    kind: VisibleKind,
    id: Identifier,
    node: PolicyNode,
    viewer: ViewerState,
  ): boolean {
    const table = kind === 'table' ? id.at(-1) : undefined
    const depth = kind === 'table' ? id.length - 1 : id.length
    // The branch is pending: a table is shown to callers who may describe one of its branches.
    if (findAllowOn(node, kind, viewer, { id, table, depth }) !== undefined) return true
    return kind === 'namespace' && findBeneath(id, node, viewer) !== undefined
  }

  function findVisibleBeneath({ id, principal, request }: NamespaceViewer): Allowed | undefined {
    const knownConditions = { namespace: noKnownConditions, table: noKnownConditions }
    const viewer = {
      principal,
      request,
      caller: subjects.resolveCaller(principal),
      knownConditions,
      evaluatedCondition: false,
    }
    return findBeneath(id, nearestNode(root, id, id.length), viewer)
  }

  function findBeneath(id: Identifier, node: PolicyNode, viewer: ViewerState): Allowed | undefined {
    const allowed = findAllowSomewhere(node, viewer)
    // If the namespace has no node, no policy covers anything beneath it.
    if (allowed !== undefined || node.depth < id.length) return allowed
    for (const grant of grantsBeneath(node, viewer.caller)) {
      const allowed = findAllowBy(grant, viewer)
      if (allowed !== undefined) return allowed
    }
    for (const tagged of taggedNodes) {
      if (tagged.index < node.index || tagged.index >= node.subtreeEnd) continue
      const allowed = findAllowByTags(tagged, viewer)
      if (allowed !== undefined) return allowed
    }
    return undefined
  }

  return { visibilityFor, findVisibleBeneath }
}

/** One sample name represents each pattern: another pattern matches it only if it matches every name of this one. */
function findAllowBy({ rule, node }: RuleAtNode, viewer: ViewerState): Allowed | undefined {
  if (rule.sampleNames === undefined) return findAllowSomewhere(node, viewer)
  for (const table of rule.sampleNames) {
    const object = { id: undefined, table, depth: node.depth }
    const allowed = findAllowOn(node, 'table', viewer, object)
    if (allowed !== undefined) return allowed
  }
  return undefined
}

/** A rule from above may allow what its tags single out. */
function findAllowByTags(node: PolicyNode, viewer: ViewerState): Allowed | undefined {
  for (const table of node.tables?.keys() ?? []) {
    const allowed = findAllowOn(node, 'table', viewer, { id: undefined, table, depth: node.depth })
    if (allowed !== undefined) return allowed
  }
  return findAllowSomewhere(node, viewer)
}

/** For an object deeper than all policies. Its id is unknown, so conditions on it are decided for the caller. */
function findAllowSomewhere(node: PolicyNode, viewer: ViewerState): Allowed | undefined {
  const object = { id: undefined, table: undefined, depth: node.depth + 1 }
  return findAllowOn(node, 'table', viewer, object) ?? findAllowOn(node, 'namespace', viewer, object)
}

function findAllowOn(
  node: PolicyNode,
  kind: VisibleKind,
  viewer: ViewerState,
  { id, table, depth }: Pick<Evaluation, 'table' | 'depth'> & Pick<Evaluation['input'], 'id'>,
): Allowed | undefined {
  const { principal, request, caller } = viewer
  const knownConditions = viewer.knownConditions[kind]
  const { permission, operation } = describePermissions[kind]
  const tags = getTags(node, depth, table)
  const input = { principal, permission, kind, id, tags, request, operation }
  const evaluation: Evaluation = {
    input,
    caller,
    table,
    depth,
    knownConditions,
    evaluatedCondition: false,
    openDeny: undefined,
    openAllow: undefined,
    error: undefined,
  }
  const rule = evaluate(node, evaluation)
  viewer.evaluatedCondition ||= evaluation.evaluatedCondition
  if (resultKind(rule, evaluation) === 'denied') return undefined
  const decision = (rule ?? evaluation.openAllow)?.decision
  return decision?.allowed === true ? decision : undefined
}

function cacheSlotFor(kind: VisibleKind, hasNode: boolean): keyof typeof cacheSlots {
  if (kind === 'table') return 'table'
  return hasNode ? 'itself' : 'beneath'
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

function findNodesWithRule(
  rules: readonly RuleAtNode[],
  predicate: (rule: CompiledRule) => boolean,
): ReadonlySet<PolicyNode> {
  return new Set(rules.filter(({ rule }) => predicate(rule)).map(({ node }) => node))
}

function addSubtrees(tops: ReadonlySet<PolicyNode>, nodes: readonly PolicyNode[]): ReadonlySet<PolicyNode> {
  if (tops.size === 0) return tops
  const all = new Set(tops)
  for (const node of nodes) if (node.parent !== undefined && all.has(node.parent)) all.add(node)
  return all
}
