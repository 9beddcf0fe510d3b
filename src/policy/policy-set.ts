import { LRUCache } from 'lru-cache'
import type { Identifier } from '../catalog-api/identifiers.ts'
import { runAtOnce, type Steps } from '../lib/async/run-in-slices.ts'
import {
  CompiledRule,
  createRuleReference,
  type ReportConditionFailure,
  type RuleContext,
} from './engine/compiled-rule.ts'
import {
  evaluate,
  listRestricting,
  resultKind,
  type ResultKind,
  type RuleAbout,
  type Visit,
} from './engine/evaluate.ts'
import {
  anyTable,
  noKnownConditions,
  type Evaluation,
  type KnownConditions,
  outcomeApplies,
} from './engine/evaluation.ts'
import type { KnownCaller } from './engine/subject.ts'
import { createConcealment, createContactFinder } from './visibility/concealment.ts'
import type { Allowed, Decision } from './engine/decision.ts'
import type { Permission } from '../catalog-api/permissions.ts'
import type { PolicyDocument } from './language/policy-document.ts'
import {
  addRule,
  createRoot,
  nearestNode,
  numberNodes,
  getOrCreateNode,
  walkSubtree,
  type PolicyNode,
} from './engine/policy-node.ts'
import {
  findTreePosition,
  getTaggedColumns,
  getTaggedTable,
  listTagsBeneath,
  locate,
  tagNodes,
  createTagFinder,
  type TagFinder,
  type TreePosition,
} from './engine/node-tags.ts'
import type { ObjectPosition } from './engine/object-position.ts'
import type {
  AuthorizationRequest,
  ConditionFact,
  ConditionInput,
} from './conditions/authorization-request.ts'
import { revisionSteps } from './engine/policy-revision.ts'
import {
  combineRestrictions,
  restrictCaller,
  type CallerRestriction,
  type CombinedRestriction,
} from './restrictions/restriction.ts'
import { resolveRestriction } from './tags/object-tags.ts'
import { createSubjectNumbers } from './engine/subject-numbers.ts'
import {
  createVisibility,
  type NamespaceViewer,
  type IsVisible,
  type Viewer,
  type Visibility,
} from './visibility/visibility.ts'

/** One question to the policies. What is not known may have any value. */
export interface Question {
  readonly permission: Permission
  readonly position: ObjectPosition
  readonly caller: KnownCaller
  /** What is known of the input of conditions, besides the tags of the object. */
  readonly input?: ConditionInput
  /** Results of conditions that are known without evaluation. */
  readonly conditions?: KnownConditions
}

interface Result {
  readonly kind: ResultKind
  /** The rule that decides or, if the result is open, an allow that may; undefined if none allows it. */
  readonly by: RuleAbout | undefined
}

/** Compiled policies. Immutable. */
export interface PolicySet extends TagFinder {
  /**
   * SHA-256 of the content of the policies, in hex: sets with equal revisions decide alike. Layout, comments,
   * descriptions, messages and file names do not affect it.
   */
  readonly revision: string
  /** Number of documents. */
  readonly size: number
  readonly documents: readonly PolicyDocument[]
  /**
   * Evaluates a question of which not everything need be known, for analyses. `visit` sees what becomes of each rule about
   * the permission, from the namespace of the object upwards, and in each namespace in order; and each restriction of the
   * table that leaves a part of it to the permission.
   */
  evaluate(question: Question, visit?: Visit): Result
  /** Returns the policies of the namespaces from the root to the given one. */
  documentsAbove(namespace: Identifier): readonly PolicyDocument[]
  /**
   * Decides whether the principal may use the permission on the object. If several rules of the deciding effect apply,
   * the decision names the one of the deepest namespace, and among these the first by file and line.
   */
  decide(request: AuthorizationRequest): Decision
  /**
   * Partial evaluation: returns the decision if no value of the pending facts can change whether it allows, otherwise
   * undefined. A denial may name another rule or reason than `decide` will.
   */
  decidePartially(request: AuthorizationRequest): Decision | undefined
  /**
   * Decides whether the principal may use the permission on a namespace and on everything that is or may be created
   * beneath it. It does not know which objects exist: a rule that denies something beneath denies, even if no object
   * matches it, and so does a namespace beneath with `inherit: false` that does not itself allow the permission.
   * Conditions on the id are decided against the caller. Denies if `decide` denies on the namespace. The cost grows
   * with the number of policies beneath.
   */
  decideBeneath(request: AuthorizationRequest): Decision
  /** Whether a denial of this request must be reported as if the object did not exist. */
  isConcealed(request: AuthorizationRequest): boolean
  /**
   * Returns whom a caller may ask after this denial: the contact of the policy that denies, else that of the deepest
   * namespace on the path that has one. Contacts of what the principal may not know of are passed over, so that the
   * result is the same as if that did not exist.
   */
  findContact(request: AuthorizationRequest, decision: Decision): string | undefined
  /** Returns what callers that may know of the object read about a denial. */
  findGrounds(request: AuthorizationRequest, decision: Decision): Grounds
  /**
   * Returns what the restrictions leave of a table for the principal; undefined if there are none. It allows nothing by
   * itself, and is to be asked for operations that `decide` allows.
   */
  findRestriction(request: AuthorizationRequest): CallerRestriction | undefined
  /**
   * Returns what shadow policies would leave of a table, if that is not what `findRestriction` returns; otherwise undefined,
   * as for an operation that restrictions leave nothing of.
   */
  findShadowRestriction(request: AuthorizationRequest): CallerRestriction | undefined
  /** Whether the principal may know that the object exists, so that refusals may reveal it. */
  canKnow(request: AuthorizationRequest): boolean
  /** Whether the principal may describe an object that it changed, for any facts of the description. */
  canDescribe(request: AuthorizationRequest): boolean
  /** Whether the principal may list the tags and branches of a table, so that errors may name them. */
  canListReferences(request: AuthorizationRequest): boolean
  /**
   * Returns what listings show to the principal: tables that it may describe, and namespaces that it may describe or
   * beneath which something may be visible. The latter is decided from the policies alone, which do not know which
   * objects exist: if only a condition on the id decides about a name, the name counts as visible. The cost grows only
   * with the rules beneath that name the principal without allowing anything.
   */
  visibilityFor(viewer: Viewer): IsVisible
  /** Returns the decision that makes something beneath a namespace visible; undefined if nothing can be visible. */
  findVisibleBeneath(viewer: NamespaceViewer): Allowed | undefined
}

/** Why a request is denied, in the words of the rules that deny it or, if none does, of allows that their condition stops. */
export interface Grounds {
  readonly message: string | undefined
  /** What the conditions of these rules read of the request. */
  readonly facts: readonly ConditionFact[]
}

/** Sets of restrictions that met on a table: combining them takes milliseconds for thousands of columns. */
const maxCombinedRestrictions = 1_000

/** Compiles valid documents with unique names, in the order of their files. */
export function compilePolicies(
  documents: readonly PolicyDocument[],
  onConditionFailure?: ReportConditionFailure,
): PolicySet {
  return runAtOnce(compileSteps(documents, onConditionFailure))
}

/** `compilePolicies` in steps. */
export function* compileSteps(
  documents: readonly PolicyDocument[],
  onConditionFailure: ReportConditionFailure = () => undefined,
): Steps<PolicySet> {
  const revision = yield* revisionSteps(documents)
  const noRule: Decision = Object.freeze({ allowed: false, reason: 'no_rule', revision })
  const subjects = createSubjectNumbers()
  const root = yield* buildTree(documents, { subjects, revision, onConditionFailure })
  const nodes = numberNodes(root)
  tagNodes(nodes)
  const hasRestrictions = nodes.some(({ restrictions }) => restrictions !== undefined)

  /** `id` is undefined for everything beneath the object. */
  function createEvaluation(
    { principal, permission, kind, request, operation }: AuthorizationRequest,
    id: Identifier | undefined,
    { depth, table, tags }: Omit<TreePosition, 'node'>,
  ): Evaluation {
    return {
      input: { principal, permission, kind, id, request, operation, tags },
      caller: subjects.resolveCaller(principal),
      table,
      depth,
      knownConditions: noKnownConditions,
      evaluatedCondition: false,
      openDeny: undefined,
      openAllow: undefined,
      error: undefined,
    }
  }

  /** What is not known counts against the caller. */
  function decideIn(node: PolicyNode, evaluation: Evaluation): Decision {
    const rule = evaluate(node, evaluation)
    return (rule?.effect === 'deny' ? rule : (evaluation.openDeny ?? rule))?.decision ?? noRule
  }

  function decide(request: AuthorizationRequest): Decision {
    const position = findTreePosition(root, request)
    return decideIn(position.node, createEvaluation(request, request.id, position))
  }

  /** Whether the request is allowed for some values of the pending facts. */
  function couldBeAllowed(request: AuthorizationRequest): boolean {
    const position = findTreePosition(root, request)
    const evaluation = createEvaluation(request, request.id, position)
    return resultKind(evaluate(position.node, evaluation), evaluation) !== 'denied'
  }

  function decidePartially(request: AuthorizationRequest): Decision | undefined {
    const position = findTreePosition(root, request)
    const evaluation = createEvaluation(request, request.id, position)
    const rule = evaluate(position.node, evaluation)
    return resultKind(rule, evaluation) === 'open' ? undefined : (rule?.decision ?? noRule)
  }

  function evaluateQuestion(question: Question, visit?: Visit): Result {
    const { permission, position, caller, input, conditions = noKnownConditions } = question
    const { node, depth, table, tags } = locate(root, position)
    const evaluation: Evaluation = {
      input: { ...input, permission, tags },
      caller: subjects.resolveKnown(caller),
      table,
      depth,
      knownConditions: conditions,
      evaluatedCondition: false,
      openDeny: undefined,
      openAllow: undefined,
      error: undefined,
    }
    const deciding = evaluate(node, evaluation, visit)
    const kind = resultKind(deciding, evaluation)
    const by = deciding ?? evaluation.openAllow
    if (by === undefined) return { kind, by }
    const { document, rule } = by
    return { kind, by: { document, rule, implication: rule.implied.get(permission) } }
  }

  function documentsAbove(namespace: Identifier): readonly PolicyDocument[] {
    const above: PolicyDocument[][] = []
    let node: PolicyNode | undefined = nearestNode(root, namespace, namespace.length)
    for (; node !== undefined; node = node.parent) above.unshift(node.documents)
    return above.flat()
  }

  function decideBeneath(request: AuthorizationRequest): Decision {
    const own = decide(request)
    const node = nearestNode(root, request.id, request.id.length)
    if (!own.allowed) return own
    const position = { depth: request.id.length, table: undefined }
    // If the namespace has no node, no policy covers anything beneath it.
    const hasNode = node.depth === request.id.length
    for (const tags of hasNode ? listTagsBeneath(node) : [node.tags]) {
      const evaluation = createEvaluation(request, undefined, { ...position, tags })
      const allBeneath = decideIn(node, evaluation)
      if (!allBeneath.allowed) return allBeneath
      const denied = hasNode ? findDenyBeneath(node, evaluation)?.decision : undefined
      if (denied !== undefined) return denied
      if (hasNode && hasUnallowedBoundary(node, evaluation)) return noRule
    }
    return own
  }

  /** Whether a namespace in the subtree stops inheritance and does not itself allow the permission. */
  function hasUnallowedBoundary(top: PolicyNode, evaluation: Evaluation): boolean {
    for (const node of walkSubtree(top)) {
      if (node.stopsInheritance && !decideIn(node, evaluation).allowed) return true
    }
    return false
  }

  function findGrounds(request: AuthorizationRequest, decision: Decision): Grounds {
    if (decision.allowed) return { message: undefined, facts: [] }
    const { rule: denying } = decision
    const position = findTreePosition(root, request)
    const facts = new Set<ConditionFact>()
    let message = decision.message
    evaluate(position.node, createEvaluation(request, request.id, position), ({ rule, outcome }) => {
      const isUnmet = rule.effect === 'allow' && (outcome === 'false' || outcome === 'failed')
      const decides =
        denying === undefined ? isUnmet : rule.effect === 'deny' && outcomeApplies(rule, outcome)
      if (!decides) return
      if (denying === undefined) message ??= rule.message
      for (const fact of rule.condition?.facts ?? []) facts.add(fact)
    })
    return { message, facts: [...facts] }
  }

  /** By the order of the rules, and the table if its columns are declared. */
  const combinedRestrictions = new LRUCache<string, CombinedRestriction>({ max: maxCombinedRestrictions })

  function findRestriction(request: AuthorizationRequest): CallerRestriction | undefined {
    if (!hasRestrictions) return undefined
    const position = findTreePosition(root, request)
    const { node, depth, table } = position
    if (node.depth !== depth || node.restrictions === undefined) return undefined
    const rules = listRestricting(node, createEvaluation(request, request.id, position))
    if (rules.length === 0) return undefined
    const key = `${rules.map(({ order }) => order).join()} ${getTaggedTable(node, depth, table) === undefined ? '' : table}`
    let combined = combinedRestrictions.get(key)
    if (combined === undefined) {
      const tagged = getTaggedColumns(node, depth, table)
      const parts = rules.map((restricting) => ({
        ...resolveRestriction(restricting.rule.restriction, tagged),
        rule: createRuleReference(restricting),
      }))
      combinedRestrictions.set(key, (combined = combineRestrictions(parts)))
    }
    return restrictCaller(combined, request.principal)
  }

  // Created on first use, because many sets never need it.
  let cachedVisibility: Visibility | undefined
  function getVisibility(): Visibility {
    return (cachedVisibility ??= createVisibility(root, nodes, subjects))
  }

  const findVisibleBeneath = (viewer: NamespaceViewer): Allowed | undefined =>
    getVisibility().findVisibleBeneath(viewer)
  const concealment = createConcealment(root, couldBeAllowed, findVisibleBeneath)
  return Object.freeze({
    revision,
    size: documents.length,
    documents,
    evaluate: evaluateQuestion,
    documentsAbove,
    ...createTagFinder(root),
    decide,
    decidePartially,
    decideBeneath,
    visibilityFor: (viewer: Viewer) => getVisibility().visibilityFor(viewer),
    findVisibleBeneath,
    findGrounds,
    findRestriction,
    findShadowRestriction: () => undefined,
    ...concealment,
    findContact: createContactFinder(documents, root, concealment.canKnow),
  })
}

/**
 * Returns the rule that denies the permission in the namespace or beneath: the deepest one, and among these the first.
 */
function findDenyBeneath(top: PolicyNode, evaluation: Evaluation): CompiledRule | undefined {
  let deny: CompiledRule | undefined
  let depth = 0
  for (const node of walkSubtree(top)) {
    evaluation.openDeny = undefined
    const rule = node.denies?.first(evaluation, anyTable) ?? evaluation.openDeny
    const isDeeper = deny === undefined || node.depth > depth
    if (rule && (isDeeper || (node.depth === depth && rule.order < (deny?.order ?? 0)))) {
      deny = rule
      depth = node.depth
    }
  }
  return deny
}

function* buildTree(documents: readonly PolicyDocument[], context: RuleContext): Steps<PolicyNode> {
  const root = createRoot()
  let order = 0
  for (const document of documents) {
    const node = getOrCreateNode(root, document.namespace)
    node.documents.push(document)
    if (!document.inherit) node.stopsInheritance = true
    if (document.final.size > 0) node.final = new Set([...node.final, ...document.final])
    // If several policies of a namespace set `onDeny`, 404 wins, because it conceals more.
    if (document.onDeny === 404 || node.onDeny === undefined) node.onDeny = document.onDeny
    node.contact ??= document.contact
    for (const rule of document.rules) addRule(node, new CompiledRule(context, rule, document, order++))
    yield
  }
  return root
}
