import {
  getNamespaceDepth,
  getOperation,
  type Identifier,
  isOperationName,
  type ObjectKind,
  operationNames,
  type Permission,
} from '../../catalog-api/index.ts'
import type { Principal } from '../../identity/index.ts'
import type { AuthorizationRequest, RequestFacts } from '../conditions/authorization-request.ts'
import { sampleName } from '../conditions/name-pattern.ts'
import { constantFacts } from '../conditions/permission-facts.ts'
import type { CompiledRule } from '../engine/compiled-rule.ts'
import type { Allowed, Decision } from '../engine/decision.ts'
import {
  createEvaluation,
  evaluate,
  resultKind,
  type Evaluation,
  type KnownConditions,
} from '../engine/evaluate.ts'
import {
  appendTo,
  createPosition,
  type PolicyNode,
  type PolicyTree,
  type TreePosition,
} from '../engine/policy-tree.ts'
import type { SubjectNumbers } from '../engine/subject.ts'

type VisibleKind = 'namespace' | 'table'

export interface Viewer {
  readonly principal: Principal
  readonly request: RequestFacts
}

export type Visibility = ReturnType<typeof createVisibility>

const describing = new Map(
  operationNames.flatMap((permission) =>
    getOperation(permission).describesKinds.map(
      (kind) => [kind, { permission, operation: constantFacts(permission) }] as const,
    ),
  ),
)

/**
 * Returns the permission to describe an object, with the facts of any request to describe it: callers that may describe one
 * branch or tag of a table may know that the table exists.
 */
export function findDescribing(kind: ObjectKind) {
  const found = describing.get(kind)
  if (found === undefined) throw new Error(`no operation describes a ${kind}`)
  return found
}

/** Objects that a rule may make visible. */
interface Grant {
  readonly node: PolicyNode
  /** Tables of the namespace that represent all; undefined for objects deeper than all policies. */
  readonly tables: readonly string[] | undefined
}

export function createVisibility(tree: PolicyTree, subjects: SubjectNumbers) {
  // Created on first use, because many sets never need it.
  let cachedGrants: ReturnType<typeof indexGrants> | undefined

  function createView({ principal, request }: Viewer) {
    const caller = subjects.find(principal)
    const conditions: Record<VisibleKind, KnownConditions> = { namespace: new Map(), table: new Map() }

    /** Of an object with an unknown id, conditions on it are decided for the caller. */
    function startEvaluation(kind: VisibleKind, position: TreePosition, id?: Identifier): Evaluation {
      const { permission, operation } = findDescribing(kind)
      const input = { principal, permission, kind, id, request, operation }
      return createEvaluation(input, caller, position, conditions[kind])
    }

    function findAllowBy({ node, tables }: Grant): Allowed | undefined {
      const deeper = createPosition(node, node.depth + 1, undefined)
      if (tables === undefined)
        return findAllow(startEvaluation('table', deeper)) ?? findAllow(startEvaluation('namespace', deeper))
      for (const table of tables) {
        const allowed = findAllow(startEvaluation('table', createPosition(node, node.depth, table)))
        if (allowed !== undefined) return allowed
      }
      return undefined
    }

    /** `node` is the nearest one of a namespace of that depth. */
    function findBeneath(node: PolicyNode, depth: number): Allowed | undefined {
      const allowed = findAllowBy({ node, tables: undefined })
      // If the namespace has no node, no policy covers anything beneath it.
      if (allowed !== undefined || node.depth < depth) return allowed
      const index = (cachedGrants ??= indexGrants(tree))
      for (const subject of [...caller, undefined]) {
        const grants = index.get(subject) ?? []
        for (let at = firstIndexFrom(grants, node.index); at < grants.length; at++) {
          const grant = grants[at]
          if (grant === undefined || grant.node.index >= node.subtreeEnd) break
          // This one is decided above.
          if (grant.node === node && grant.tables === undefined) continue
          const allowed = findAllowBy(grant)
          if (allowed !== undefined) return allowed
        }
      }
      return undefined
    }

    return { startEvaluation, findBeneath }
  }

  return {
    /**
     * Returns whether listings show an object to the principal, for one request: tables that it may describe, and namespaces
     * that it may describe or beneath which something may be visible. The latter is decided from the policies alone, which do
     * not know which objects exist: if only a condition on the id decides about a name, the name counts as visible. The cost
     * grows only with the rules beneath that name the principal without allowing anything.
     */
    visibilityFor(viewer: Viewer) {
      const { startEvaluation, findBeneath } = createView(viewer)
      // By the kind, the node and if the object is in it: policies distinguish no more, unless a rule reads more of a table.
      const known = new Map<number, boolean>()
      return (kind: VisibleKind, id: Identifier): boolean => {
        const depth = getNamespaceDepth(kind, id)
        const node = tree.nearestNode(id, depth)
        const slot = node.index * 4 + (kind === 'table' ? 2 : 0) + (node.depth === depth ? 1 : 0)
        const knownResult = known.get(slot)
        if (knownResult !== undefined) return knownResult
        const own = kind === 'table' && startEvaluation(kind, createPosition(node, depth, id[depth]), id)
        // Of a namespace that may be described, one beneath it with an unknown name may be, too.
        const isVisible = (own ? findAllow(own) : findBeneath(node, depth)) !== undefined
        if (!own || !own.dependsOnObject) known.set(slot, isVisible)
        return isVisible
      }
    },
    /** Returns the decision that makes something beneath a namespace visible; undefined if nothing can be visible. */
    findVisibleBeneath(viewer: Viewer & { readonly id: Identifier }) {
      return createView(viewer).findBeneath(tree.nearestNode(viewer.id), viewer.id.length)
    },
  }
}

function findAllow(evaluation: Evaluation): Allowed | undefined {
  const rule = evaluate(evaluation)
  if (resultKind(rule, evaluation) === 'denied') return undefined
  const decision = (rule ?? evaluation.openAllow)?.decision
  return decision?.allowed === true ? decision : undefined
}

/**
 * Lists grants by the subjects of their rules and, for every caller, those that tags may single out; in the order of their
 * nodes, so that those of a subtree are one range of each list.
 */
function indexGrants({ nodes }: PolicyTree): ReadonlyMap<number | undefined, readonly Grant[]> {
  const index = new Map<number | undefined, Grant[]>()
  const readsTags = nodes.some(({ rules }) =>
    rules.some((rule) => isDescribing(rule) && rule.condition?.tags.length),
  )
  for (const node of nodes) {
    for (const rule of node.allows?.all.filter(isDescribing) ?? []) {
      // One sample name represents each pattern: another pattern matches it only if it matches every name of this one.
      const grant = { node, tables: rule.rule.tables?.map(sampleName) }
      for (const subject of rule.subjects) appendTo(index, subject, grant)
    }
    if (!readsTags || node.documents.every(({ tags }) => tags === undefined)) continue
    for (const tables of [[...node.tables.keys()], undefined]) appendTo(index, undefined, { node, tables })
  }
  return index
}

function isDescribing({ permissions }: CompiledRule): boolean {
  return (['namespace', 'table'] as const).some((kind) => permissions.has(findDescribing(kind).permission))
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

/** Whether the operation lists objects, and shows those that are visible to the caller. */
export function isListing(permission: Permission): boolean {
  return isOperationName(permission) && getOperation(permission).lists !== undefined
}

/**
 * Decides as the gateway does: without a rule, a listing is allowed if something beneath may be visible to the caller. Then
 * `byVisibility` is the decision, too.
 */
export function decideListing(
  policies: { decide(request: AuthorizationRequest): Decision } & Pick<Visibility, 'findVisibleBeneath'>,
  request: AuthorizationRequest,
) {
  const own = policies.decide(request)
  const byVisibility = findByVisibility(policies, request, own)
  return { decision: byVisibility ?? own, byVisibility }
}

export function findByVisibility(
  policies: Pick<Visibility, 'findVisibleBeneath'>,
  request: AuthorizationRequest,
  decision: Decision,
): Allowed | undefined {
  const mayBeVisible = !decision.allowed && decision.reason === 'no_rule' && isListing(request.permission)
  return mayBeVisible ? policies.findVisibleBeneath(request) : undefined
}
