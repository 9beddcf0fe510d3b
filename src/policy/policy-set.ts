import type { Identifier } from '../catalog-api/identifiers.ts'
import { runAtOnce, type Steps } from '../lib/async/run-in-slices.ts'
import {
  anyTable,
  noKnownConditions,
  type Evaluation,
  type CompiledRule,
  type PendingAssumption,
} from './engine/compiled-rule.ts'
import { createConcealment } from './visibility/concealment.ts'
import type { Allowed, Decision } from './engine/decision.ts'
import type { PolicyDocument } from './language/policy-document.ts'
import type { Permission } from '../catalog-api/permissions.ts'
import {
  addRule,
  decisiveRule,
  createRoot,
  nearestNode,
  numberNodes,
  getOrCreateNode,
  walkSubtree,
  type PolicyNode,
} from './engine/policy-node.ts'
import type { ConditionInput, AuthorizationRequest } from './conditions/authorization-request.ts'
import { createRuleCompiler, type CompileRule, type ReportConditionFailure } from './engine/rule-compiler.ts'
import { revisionSteps } from './engine/policy-revision.ts'
import { createSubjectNumbers } from './engine/subject-numbers.ts'
import {
  createVisibility,
  type NamespaceViewer,
  type IsVisible,
  type Viewer,
  type Visibility,
} from './visibility/visibility.ts'

/** The policies of a folder, ready to decide; never changes. */
export interface PolicySet {
  /**
   * SHA-256 (64 hex digits) of what the policies say: sets of the same revision allow and deny the same. Layout,
   * comments, descriptions and the names of the files make no difference.
   */
  readonly revision: string
  /** How many documents it was made of. */
  readonly size: number
  /**
   * Whether the principal may use the permission on the object. Of several rules that allow, or several that deny,
   * the answer names the one of the deepest namespace, and of these the first by file and line.
   */
  decide(request: AuthorizationRequest): Decision
  /**
   * What `decide` will answer whatever the pending facts turn out to be; undefined if they decide. A denial may then
   * name another rule, or give another reason.
   */
  decidePartially(request: AuthorizationRequest): Decision | undefined
  /** Whether the decision on a permission may depend on the time, so that it must hold when a body ends, too. */
  dependsOnTime(permission: Permission): boolean
  /**
   * Whether the principal may use the permission on a namespace and on everything that is or could come to be
   * beneath it. It does not know what exists: a rule that denies something beneath denies, also if there is
   * nothing it would apply to, and so does a namespace with `inherit: false` beneath that does not itself allow
   * the permission. A condition that asks for the id counts against the caller. Denies where `decide` denies on
   * the namespace. Takes longer the more policies lie beneath.
   */
  decideBeneath(request: AuthorizationRequest): Decision
  /** Whether to answer a denial of this question as if the object were not there. */
  isConcealed(request: AuthorizationRequest): boolean
  /** Whether the principal may know that the object is there, so that refusals may admit it. */
  canKnow(request: AuthorizationRequest): boolean
  /** Whether the principal may describe an object that it changed, whatever facts a description would state. */
  canDescribe(request: AuthorizationRequest): boolean
  /** Whether the principal may list the tags and the branches of a table, so that errors may name them. */
  canListReferences(request: AuthorizationRequest): boolean
  /**
   * What listings show to the principal: a table that he may describe; a namespace that he may describe, or beneath
   * which he may see something. The latter is told from the policies alone, which do not know what exists: a name
   * that only a condition on the id decides about counts as one that may be seen. Takes longer only the more rules
   * beneath concern the principal without allowing him anything.
   */
  visibilityFor(viewer: Viewer): IsVisible
  /** The decision that makes something beneath a namespace visible; undefined where nothing there can be. */
  findVisibleBeneath(visibility: NamespaceViewer): Allowed | undefined
}

/** Compiles documents that are valid and whose names are unique, in the order of their files. */
export function compilePolicies(
  documents: readonly PolicyDocument[],
  conditionFailed?: ReportConditionFailure,
): PolicySet {
  return runAtOnce(compileSteps(documents, conditionFailed))
}

/** Does the same as `compilePolicies`, in steps. */
export function* compileSteps(
  documents: readonly PolicyDocument[],
  conditionFailed: ReportConditionFailure = () => undefined,
): Steps<PolicySet> {
  const revision = yield* revisionSteps(documents)
  const noRule: Decision = Object.freeze({ allowed: false, reason: 'no_rule', revision })
  const subjects = createSubjectNumbers()
  const root = yield* buildTrie(documents, createRuleCompiler(subjects, revision, conditionFailed))
  const nodes = numberNodes(root)
  const timed = findTimedPermissions(documents)

  function requestedOf(input: ConditionInput, id: Identifier, assumption: PendingAssumption): Evaluation {
    const { principal, kind } = input
    const isNamespace = kind === 'namespace' || kind === 'none'
    const depth = isNamespace ? id.length : id.length - 1
    const table = isNamespace ? undefined : id[depth]
    const caller = subjects.resolveCaller(principal)
    return {
      input,
      caller,
      table,
      depth,
      assumption,
      knownConditions: noKnownConditions,
      evaluatedCondition: false,
      foundPending: false,
    }
  }

  function poll(request: AuthorizationRequest, requested: Evaluation): Decision {
    return decisiveRule(nearestNode(root, request.id, requested.depth), requested)?.decision ?? noRule
  }

  function decide(request: AuthorizationRequest): Decision {
    return poll(request, requestedOf(request, request.id, 'worst'))
  }

  /** Whether it is allowed if pending facts are as the caller wishes. */
  function couldBeAllowed(request: AuthorizationRequest): boolean {
    return poll(request, requestedOf(request, request.id, 'best')).allowed
  }

  /** Conclusive if no value of the pending facts can change the decision. */
  function decidePartially(request: AuthorizationRequest): Decision | undefined {
    const requested = requestedOf(request, request.id, 'worst')
    const worst = poll(request, requested)
    if (worst.allowed || !requested.foundPending) return worst
    const best = poll(request, requestedOf(request, request.id, 'best'))
    return best.allowed ? undefined : best
  }

  function decideBeneath(request: AuthorizationRequest): Decision {
    const own = decide(request)
    const node = nearestNode(root, request.id, request.id.length)
    if (!own.allowed) return own
    const requested = requestedOf({ ...request, id: undefined }, request.id, 'worst')
    const reaching = decisiveRule(node, requested)?.decision ?? noRule
    // Where no policy speaks of the namespace, none speaks of what is beneath it.
    if (!reaching.allowed || node.depth < request.id.length) return reaching
    const denied = findDenyBeneath(node, requested)?.decision
    return denied ?? (hasUnallowedBoundary(node, requested) ? noRule : own)
  }

  // Made when something is first listed or concealed, which then takes longer once: many sets are never asked.
  let madeVisibility: Visibility | undefined
  function visibility(): Visibility {
    return (madeVisibility ??= createVisibility(root, nodes, subjects))
  }

  const findVisibleBeneath = (viewer: NamespaceViewer): Allowed | undefined =>
    visibility().findVisibleBeneath(viewer)
  return Object.freeze({
    revision,
    size: documents.length,
    decide,
    decidePartially,
    dependsOnTime: (permission: Permission) => timed.has(permission),
    decideBeneath,
    visibilityFor: (viewer: Viewer) => visibility().visibilityFor(viewer),
    findVisibleBeneath,
    ...createConcealment(root, couldBeAllowed, findVisibleBeneath),
  })
}

/** The rule that denies the permission on something in the namespace or beneath: the deepest, of these the first. */
function findDenyBeneath(top: PolicyNode, requested: Evaluation): CompiledRule | undefined {
  let deny: CompiledRule | undefined
  let depth = 0
  for (const node of walkSubtree(top)) {
    const rule = node.denies?.first(requested, anyTable)
    const isDeeper = deny === undefined || node.depth > depth
    if (rule && (isDeeper || (node.depth === depth && rule.order < (deny?.order ?? 0)))) {
      deny = rule
      depth = node.depth
    }
  }
  return deny
}

/** Whether some namespace there takes nothing from above and is not itself allowed the permission. */
function hasUnallowedBoundary(top: PolicyNode, requested: Evaluation): boolean {
  for (const node of walkSubtree(top)) {
    if (node.stopsInheritance && decisiveRule(node, requested)?.effect !== 'allow') return true
  }
  return false
}

function findTimedPermissions(documents: readonly PolicyDocument[]): ReadonlySet<Permission> {
  const timed = new Set<Permission>()
  for (const { rules } of documents) {
    for (const { condition, permissions } of rules) {
      if (condition?.readsTime === true) for (const permission of permissions) timed.add(permission)
    }
  }
  return timed
}

function* buildTrie(documents: readonly PolicyDocument[], compile: CompileRule): Steps<PolicyNode> {
  const root = createRoot()
  let order = 0
  for (const document of documents) {
    const node = getOrCreateNode(root, document.namespace)
    if (!document.inherit) node.stopsInheritance = true
    if (document.final.size > 0) node.final = new Set([...node.final, ...document.final])
    // Of two policies for one namespace, the one that hides more is heard.
    if (document.onDeny !== undefined) node.onDeny = Math.max(document.onDeny, node.onDeny ?? 0) as 403 | 404
    for (const rule of document.rules) addRule(node, compile(rule, document, order++))
    yield
  }
  return root
}
