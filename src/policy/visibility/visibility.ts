import {
  getOperation,
  isOperationName,
  operationNames,
  type ObjectKind,
} from '../../catalog-api/operations.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { getNamespaceDepth } from '../../catalog-api/requirements.ts'
import type { Principal } from '../../identity/index.ts'
import type {
  AuthorizationRequest,
  OperationFacts,
  RequestFacts,
} from '../conditions/authorization-request.ts'
import type { Condition } from '../conditions/condition.ts'
import { sampleName } from '../conditions/name-pattern.ts'
import { constantFacts } from '../conditions/permission-facts.ts'
import type { CompiledRule } from '../engine/compiled-rule.ts'
import type { Allowed, Decision } from '../engine/decision.ts'
import { evaluate, resultKind } from '../engine/evaluate.ts'
import { createEvaluation, type ConditionResult, type Evaluation } from '../engine/evaluation.ts'
import {
  appendTo,
  createPosition,
  nearestNode,
  type PolicyNode,
  type TreePosition,
} from '../engine/policy-node.ts'
import type { SubjectNumbers } from '../engine/subject.ts'
import type { PolicySet } from '../policy-set.ts'

/** The kinds of objects that listings show. */
const visibleKinds = ['table', 'namespace'] as const

type VisibleKind = (typeof visibleKinds)[number]

export interface Viewer {
  readonly principal: Principal
  readonly request: RequestFacts
}

/** Whether a listing shows an object to the viewer. */
type IsVisible = (kind: VisibleKind, id: Identifier) => boolean

export interface Visibility {
  /**
   * Returns what listings show to the principal, for one request: tables that it may describe, and namespaces that it may
   * describe or beneath which something may be visible. The latter is decided from the policies alone, which do not know
   * which objects exist: if only a condition on the id decides about a name, the name counts as visible. The cost grows
   * only with the rules beneath that name the principal without allowing anything.
   */
  visibilityFor(viewer: Viewer): IsVisible
  /** Returns the decision that makes something beneath a namespace visible; undefined if nothing can be visible. */
  findVisibleBeneath(viewer: Viewer & { readonly id: Identifier }): Allowed | undefined
}

/**
 * The permission to describe an object, with the facts of any request to describe it: callers that may describe one
 * branch or tag of a table may know that the table exists.
 */
interface DescribePermission {
  readonly permission: Permission
  readonly operation: OperationFacts
}

/** Some objects are described by no operation. */
export const describePermissionsByKind = new Map<ObjectKind, DescribePermission>(
  operationNames.flatMap((permission) =>
    getOperation(permission).describesKinds.map((kind) => [
      kind,
      { permission, operation: constantFacts(permission) },
    ]),
  ),
)

/** The permissions that listings depend on. */
const describePermissions = {
  namespace: requireDescribePermission('namespace'),
  table: requireDescribePermission('table'),
}

function requireDescribePermission(kind: ObjectKind): DescribePermission {
  const found = describePermissionsByKind.get(kind)
  if (found === undefined) throw new Error(`no operation describes a ${kind}`)
  return found
}

interface Grant {
  readonly rule: CompiledRule
  readonly node: PolicyNode
}

/** A viewer, and the results of conditions that are the same for all objects of a kind. */
interface ViewerState extends Viewer {
  readonly caller: ReadonlySet<number>
  readonly knownConditions: Readonly<Record<VisibleKind, Map<Condition, ConditionResult>>>
}

/** Creates the visibility of a policy tree. `nodes` are its nodes in the order of their indexes. */
export function createVisibility(
  root: PolicyNode,
  nodes: readonly PolicyNode[],
  subjects: SubjectNumbers,
): Visibility {
  // Created on first use, because many sets never need it.
  let cachedGrants: ReturnType<typeof indexGrants> | undefined
  const readsTags = nodes.some(({ rules }) =>
    rules.some((rule) => isDescribing(rule) && (rule.condition?.tags.length ?? 0) > 0),
  )

  function startViewing({ principal, request }: Viewer): ViewerState {
    const caller = subjects.find(principal)
    return { principal, request, caller, knownConditions: { namespace: new Map(), table: new Map() } }
  }

  function visibilityFor(viewer: Viewer): IsVisible {
    const state = startViewing(viewer)
    // By what the policies distinguish, unless a rule reads more of a table: the kind, the node and if the object is in it.
    const known = new Map<number, boolean>()
    return (kind, id) => {
      const depth = getNamespaceDepth(kind, id)
      const node = nearestNode(root, id, depth)
      const slot = node.index * 4 + (kind === 'table' ? 2 : 0) + (node.depth === depth ? 1 : 0)
      const knownResult = known.get(slot)
      if (knownResult !== undefined) return knownResult
      const own = startEvaluation(state, kind, createPosition(node, depth, id[depth]), id)
      // Of a namespace that may be described, one beneath it with an unknown name may be, too.
      const allowed = kind === 'namespace' ? findBeneath(node, depth, state) : findAllow(own)
      if (!own.dependsOnObject) known.set(slot, allowed !== undefined)
      return allowed !== undefined
    }
  }

  function findVisibleBeneath(viewer: Viewer & { readonly id: Identifier }): Allowed | undefined {
    return findBeneath(nearestNode(root, viewer.id), viewer.id.length, startViewing(viewer))
  }

  /** `node` is the nearest one of a namespace of that depth. */
  function findBeneath(node: PolicyNode, depth: number, viewer: ViewerState): Allowed | undefined {
    const allowed = findAllowSomewhere(node, viewer)
    // If the namespace has no node, no policy covers anything beneath it.
    if (allowed !== undefined || node.depth < depth) return allowed
    const grants = (cachedGrants ??= indexGrants(nodes))
    for (const number of viewer.caller) {
      const ofSubject = grants.get(number) ?? []
      for (let index = firstIndexFrom(ofSubject, node.index); index < ofSubject.length; index++) {
        const grant = ofSubject[index]
        if (grant === undefined || grant.node.index >= node.subtreeEnd) break
        const { tables } = grant.rule.rule
        // One sample name represents each pattern: another pattern matches it only if it matches every name of this one.
        const allowed = tables
          ? findAllowOnTables(grant.node, tables.map(sampleName), viewer)
          : grant.node !== node && findAllowSomewhere(grant.node, viewer)
        if (allowed) return allowed
      }
    }
    if (!readsTags) return undefined
    // A rule from above may allow what tags beneath single out.
    for (const beneath of nodes.slice(node.index, node.subtreeEnd)) {
      if (!beneath.documents.some(({ tags }) => tags)) continue
      const tables = beneath.tables?.keys() ?? []
      const allowed = findAllowOnTables(beneath, tables, viewer) ?? findAllowSomewhere(beneath, viewer)
      if (allowed !== undefined) return allowed
    }
    return undefined
  }

  return { visibilityFor, findVisibleBeneath }
}

function isDescribing({ permissions }: CompiledRule): boolean {
  return visibleKinds.some((kind) => permissions.has(describePermissions[kind].permission))
}

/** Allow rules by subject, in the order of their nodes: those of a subtree are one range of each list. */
function indexGrants(nodes: readonly PolicyNode[]): ReadonlyMap<number, readonly Grant[]> {
  const bySubject = new Map<number, Grant[]>()
  for (const node of nodes)
    for (const rule of node.allows?.all ?? [])
      if (isDescribing(rule))
        for (const subject of rule.subjects) appendTo(bySubject, subject, { rule, node })
  return bySubject
}

/** Binary search for the first grant whose node index is at least `number`. */
function firstIndexFrom(grants: readonly Grant[], number: number): number {
  let [low, high] = [0, grants.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((grants[middle]?.node.index ?? number) < number) low = middle + 1
    else high = middle
  }
  return low
}

function findAllowOnTables(
  node: PolicyNode,
  tables: Iterable<string>,
  viewer: ViewerState,
): Allowed | undefined {
  for (const table of tables) {
    const position = createPosition(node, node.depth, table)
    const allowed = findAllow(startEvaluation(viewer, 'table', position, undefined))
    if (allowed !== undefined) return allowed
  }
  return undefined
}

/** For an object deeper than all policies. Its id is unknown, so conditions on it are decided for the caller. */
function findAllowSomewhere(node: PolicyNode, viewer: ViewerState): Allowed | undefined {
  const position = createPosition(node, node.depth + 1, undefined)
  return (
    findAllow(startEvaluation(viewer, 'table', position, undefined)) ??
    findAllow(startEvaluation(viewer, 'namespace', position, undefined))
  )
}

/** The branch is pending: a table is shown to callers who may describe one of its branches. */
function startEvaluation(
  { principal, request, caller, knownConditions }: ViewerState,
  kind: VisibleKind,
  position: TreePosition,
  id: Identifier | undefined,
): Evaluation {
  const { permission, operation } = describePermissions[kind]
  const input = { principal, permission, kind, id, request, operation }
  return createEvaluation(input, caller, position, knownConditions[kind])
}

/** Returns the decision of the rule that allows, or may. */
function findAllow(evaluation: Evaluation): Allowed | undefined {
  const rule = evaluate(evaluation)
  if (resultKind(rule, evaluation) === 'denied') return undefined
  const decision = (rule ?? evaluation.openAllow)?.decision
  return decision?.allowed === true ? decision : undefined
}

interface ListingDecision {
  readonly decision: Decision
  /** The same decision, if no rule allows the listing itself and it shows what is visible beneath. */
  readonly byVisibility: Allowed | undefined
}

/** Whether the operation lists objects, and shows those that are visible to the caller. */
export function isListing(permission: Permission): boolean {
  return isOperationName(permission) && getOperation(permission).lists !== undefined
}

/** Decides as the gateway does: without a rule, a listing is allowed if something beneath may be visible to the caller. */
export function decideListing(
  policies: Pick<PolicySet, 'decide' | 'findVisibleBeneath'>,
  request: AuthorizationRequest,
): ListingDecision {
  const decision = policies.decide(request)
  const byVisibility = findByVisibility(policies, request, decision)
  return { decision: byVisibility ?? decision, byVisibility }
}

/** The decision that allows a listing which no rule allows: something beneath may be visible to the caller. */
export function findByVisibility(
  policies: Pick<PolicySet, 'findVisibleBeneath'>,
  request: AuthorizationRequest,
  decision: Decision,
): Allowed | undefined {
  const mayBeVisible = !decision.allowed && decision.reason === 'no_rule' && isListing(request.permission)
  return mayBeVisible ? policies.findVisibleBeneath(request) : undefined
}
