import { LRUCache } from 'lru-cache'
import type { Identifier } from '../catalog-api/identifiers.ts'
import type { Permission } from '../catalog-api/permissions.ts'
import { getNamespaceDepth } from '../catalog-api/requirements.ts'
import { runAtOnce, type Steps } from '../lib/async/run-in-slices.ts'
import type { AuthorizationRequest, ConditionInput } from './conditions/authorization-request.ts'
import {
  CompiledRule,
  createRuleReference,
  type ReportConditionFailure,
  type RuleContext,
} from './engine/compiled-rule.ts'
import type { Decision } from './engine/decision.ts'
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
  createEvaluation,
  findFirst,
  type Evaluation,
  type KnownConditions,
} from './engine/evaluation.ts'
import type { ObjectPosition } from './engine/object-position.ts'
import {
  addRule,
  completeTree,
  createRoot,
  createTagFinder,
  getOrCreateNode,
  locate,
  nearestNode,
  type PolicyNode,
  type TagFinder,
} from './engine/policy-node.ts'
import { revisionSteps } from './engine/policy-revision.ts'
import { createSubjectNumbers } from './engine/subject-numbers.ts'
import type { KnownCaller } from './engine/subject.ts'
import type { PolicyDocument } from './language/policy-document.ts'
import {
  combineRestrictions,
  restrictCaller,
  type CallerRestriction,
  type CombinedRestriction,
} from './restrictions/restriction.ts'
import { formatTags, resolveRestriction } from './tags/object-tags.ts'
import { createVisibility, type Visibility } from './visibility/visibility.ts'

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
export interface PolicySet extends TagFinder, Visibility {
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
  /** Returns the policy of a name. */
  findDocument(name: string): PolicyDocument | undefined
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
  /** Whether the request is allowed for some values of the pending facts. */
  couldBeAllowed(request: AuthorizationRequest): boolean
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
  const nodes = completeTree(root)
  const hasRestrictions = nodes.some(({ restrictions }) => restrictions !== undefined)
  const byName = new Map(documents.map((document) => [document.name, document]))

  function startEvaluation(asked: AuthorizationRequest): Evaluation {
    const { principal, permission, kind, id, request, operation } = asked
    const depth = getNamespaceDepth(kind, id)
    const position = locate(root, id, depth, id[depth])
    const input = { principal, permission, kind, id, request, operation, tags: position.tags }
    return createEvaluation(input, subjects.resolveCaller(principal), position)
  }

  /** Decides from a namespace up, by default from that of the object. What is not known counts against the caller. */
  function decideIn(evaluation: Evaluation, start?: PolicyNode): Decision {
    const rule = evaluate(evaluation, undefined, start)
    return (rule?.effect === 'deny' ? rule : (evaluation.openDeny ?? rule))?.decision ?? noRule
  }

  function decide(request: AuthorizationRequest): Decision {
    return decideIn(startEvaluation(request))
  }

  function decidePartially(request: AuthorizationRequest): Decision | undefined {
    const evaluation = startEvaluation(request)
    const rule = evaluate(evaluation)
    return resultKind(rule, evaluation) === 'open' ? undefined : (rule?.decision ?? noRule)
  }

  function evaluateQuestion(question: Question, visit?: Visit): Result {
    const { permission, position, caller, input, conditions } = question
    const { namespace, table } = position
    const found = locate(root, namespace, namespace.length, table)
    const known = { ...input, permission, tags: found.tags }
    const evaluation = createEvaluation(known, subjects.resolveKnown(caller), found, conditions)
    const deciding = evaluate(evaluation, visit)
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
    if (!own.allowed) return own
    const depth = request.id.length
    const node = nearestNode(root, request.id, depth)
    // If the namespace has no node, no policy covers anything beneath it.
    const beneath = node.depth === depth ? nodes.slice(node.index, node.subtreeEnd) : []
    const tagged = beneath.flatMap(({ tags, tables }) => [tags, ...(tables?.values() ?? [])])
    const combinations = new Map([node.tags, ...tagged].map((tags) => [formatTags(tags), tags]))
    for (const tags of combinations.values()) {
      const caller = subjects.resolveCaller(request.principal)
      const position = { node, depth, table: undefined }
      const evaluation = createEvaluation({ ...request, id: undefined, tags }, caller, position)
      const allBeneath = decideIn(evaluation)
      if (!allBeneath.allowed) return allBeneath
      const denied = findDeepestDeny(beneath, evaluation)
      if (denied !== undefined) return denied.decision
      if (beneath.some((one) => one.stopsInheritance && !decideIn(evaluation, one).allowed)) return noRule
    }
    return own
  }

  /** By the order of the rules, and the table if its columns are declared. */
  const combinedRestrictions = new LRUCache<string, CombinedRestriction>({ max: maxCombinedRestrictions })

  function findRestriction(request: AuthorizationRequest): CallerRestriction | undefined {
    if (!hasRestrictions) return undefined
    const evaluation = startEvaluation(request)
    const rules = listRestricting(evaluation)
    if (rules.length === 0) return undefined
    const { table } = evaluation
    const { tags } = evaluation.input
    const key = `${rules.map(({ order }) => order).join()} ${tags.columns.size === 0 ? '' : table}`
    let combined = combinedRestrictions.get(key)
    if (combined === undefined) {
      const parts = rules.map((restricting) => ({
        ...resolveRestriction(restricting.rule.restriction, tags),
        rule: createRuleReference(restricting),
      }))
      combinedRestrictions.set(key, (combined = combineRestrictions(parts)))
    }
    return restrictCaller(combined, request.principal)
  }

  return Object.freeze({
    revision,
    size: documents.length,
    documents,
    evaluate: evaluateQuestion,
    findDocument: (name: string) => byName.get(name),
    documentsAbove,
    ...createTagFinder(root),
    decide,
    decidePartially,
    decideBeneath,
    couldBeAllowed: (request: AuthorizationRequest) => decidePartially(request)?.allowed !== false,
    ...createVisibility(root, nodes, subjects),
    findRestriction,
    findShadowRestriction: () => undefined,
  })
}

/** Returns the rule of the nodes that denies the permission: the deepest one, and among these the first. */
function findDeepestDeny(nodes: readonly PolicyNode[], evaluation: Evaluation): CompiledRule | undefined {
  let deny: CompiledRule | undefined
  let depth = -1
  for (const node of nodes) {
    evaluation.openDeny = undefined
    const rule = (node.denies && findFirst(node.denies, evaluation, anyTable)) ?? evaluation.openDeny
    if (rule === undefined || node.depth < depth) continue
    if (node.depth === depth && deny !== undefined && deny.order < rule.order) continue
    deny = rule
    depth = node.depth
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
    for (const rule of document.rules) addRule(node, new CompiledRule(context, rule, document, order++))
    yield
  }
  return root
}
