import { LRUCache } from 'lru-cache'
import { getNamespaceDepth, type Permission } from '../catalog-api/index.ts'
import { runAtOnce, type Steps } from '../lib/index.ts'
import type { AuthorizationRequest, ConditionInput } from './conditions/authorization-request.ts'
import { compileRule, type ReportConditionFailure } from './engine/compiled-rule.ts'
import { type Decision } from './engine/decision.ts'
import {
  anyTable,
  createEvaluation,
  describeRule,
  evaluate,
  findFirst,
  listRestrictions,
  nameRestriction,
  resultKind,
  visitSteps,
  type Evaluation,
  type KnownConditions,
  type ResultKind,
  type RuleAbout,
  type Visit,
} from './engine/evaluate.ts'
import { type ObjectPosition } from './engine/object-position.ts'
import { revisionSteps } from './engine/policy-revision.ts'
import { createPosition, PolicyTree, type PolicyNode } from './engine/policy-tree.ts'
import { SubjectNumbers, type KnownCaller } from './engine/subject.ts'
import type { PolicyDocument } from './language/policy-document.ts'
import { combineRestrictions, type CallerRestriction } from './restrictions/restriction.ts'
import { formatTags } from './tags/object-tags.ts'
import { createVisibility, type Visibility } from './visibility/visibility.ts'

/** An authorization request whose unknown inputs may have any value. */
export interface PartialRequest {
  readonly permission: Permission
  readonly position: ObjectPosition
  readonly caller: KnownCaller
  /** The known input of conditions, besides the tags of the object. */
  readonly input?: ConditionInput
  /** Results of conditions that are known without evaluation. */
  readonly conditions?: KnownConditions
}

/** Compiled policies. Immutable. */
export interface PolicySet
  extends Pick<PolicyTree, 'findTags' | 'listTaggedTables' | 'documentsAbove'>, Visibility {
  /**
   * SHA-256 of the content of the policies, in hex: sets with equal revisions decide alike. See `revisionSteps`.
   */
  readonly revision: string
  readonly documents: readonly PolicyDocument[]
  /**
   * Evaluates a request with unknown inputs, for analyses. `visit` gets the outcome of each rule about
   * the permission, from the namespace of the object upwards, and in each namespace in order; and each restriction of the
   * table that leaves a part of it to the permission. Returns with the kind of the result the rule that decides or, if the
   * result is open, an allow that may; undefined if none allows it.
   */
  evaluate(
    request: PartialRequest,
    visit?: Visit,
  ): { readonly kind: ResultKind; readonly by: RuleAbout | undefined }
  findDocument(name: string): PolicyDocument | undefined
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
  /** Whether the request is allowed for some values of the pending facts; it is no decision, so shadow policies do not count it. */
  couldBeAllowed(request: AuthorizationRequest): boolean
  /**
   * Decides whether the principal may use the permission on a namespace and on everything that is or may be created
   * beneath it. It does not know which objects exist: a rule that denies something beneath denies, even if no object
   * matches it, and so does a namespace beneath with `inherit: false` that does not itself allow the permission.
   * Conditions on the id are decided against the caller. Denies if `decide` denies on the namespace. The cost grows
   * with the number of policies beneath.
   */
  decideBeneath(request: AuthorizationRequest): Decision
  /**
   * Returns the part of a table that restrictions leave to the principal, if `decide` allows the operation; undefined for all.
   */
  findRestriction(request: AuthorizationRequest): CallerRestriction | undefined
  /**
   * Returns the part of a table that shadow policies would leave, if that differs from `findRestriction`; otherwise
   * undefined, also for an operation that restrictions deny. Without shadow policies there is no such member.
   */
  findShadowRestriction?(request: AuthorizationRequest): CallerRestriction | undefined
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

export function* compileSteps(
  documents: readonly PolicyDocument[],
  onConditionFailure: ReportConditionFailure = () => undefined,
): Steps<PolicySet> {
  const revision = yield* revisionSteps(documents)
  const noRule: Decision = Object.freeze({ allowed: false, reason: 'no_rule', revision })
  const subjects = new SubjectNumbers()
  const tree = new PolicyTree(documents)
  const context = { subjects, revision, onConditionFailure }
  let order = 0
  for (const document of documents) {
    const node = tree.nearestNode(document.namespace)
    for (const rule of document.rules) node.addRule(compileRule({ document, rule }, order++, context))
    yield
  }
  const hasRestrictions = documents.some(({ rules }) => rules.some((rule) => rule.restriction))
  const byName = new Map(documents.map((document) => [document.name, document]))

  function startEvaluation(request: AuthorizationRequest): Evaluation {
    const { principal, kind, id } = request
    const depth = getNamespaceDepth(kind, id)
    const position = createPosition(tree.nearestNode(id, depth), depth, id[depth])
    return createEvaluation(request, subjects.find(principal), position)
  }

  /** Decides from a namespace up, by default from that of the object. Unknown input counts against the caller. */
  function decideIn(evaluation: Evaluation, start?: PolicyNode): Decision {
    const rule = evaluate(evaluation, start)
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

  /** By the order of the rules, and the table if its columns are declared. */
  const combinedRestrictions = new LRUCache<string, ReturnType<typeof combineRestrictions>>({
    max: maxCombinedRestrictions,
  })

  const set: PolicySet = {
    revision,
    documents,
    evaluate({ permission, position, caller, input, conditions }, visit) {
      const about = { ...input, permission }
      const numbers = subjects.findWhole(caller)
      const evaluation = createEvaluation(about, numbers, tree.locate(position), conditions, caller)
      if (visit !== undefined) visitSteps(evaluation, visit)
      const deciding = evaluate(evaluation)
      const by = deciding ?? evaluation.openAllow
      return { kind: resultKind(deciding, evaluation), by: by && describeRule(by, permission) }
    },
    findDocument: (name) => byName.get(name),
    findTags: (position) => tree.findTags(position),
    listTaggedTables: (namespace) => tree.listTaggedTables(namespace),
    documentsAbove: (namespace) => tree.documentsAbove(namespace),
    decide,
    decidePartially,
    couldBeAllowed: (request) => decidePartially(request)?.allowed !== false,
    decideBeneath(request) {
      const own = decide(request)
      if (!own.allowed) return own
      const depth = request.id.length
      const node = tree.nearestNode(request.id)
      // If the namespace has no node, no policy covers anything beneath it.
      const beneath = node.depth === depth ? tree.nodes.slice(node.index, node.subtreeEnd) : []
      const tagged = beneath.flatMap(({ tags, tables }) => [tags, ...tables.values()])
      const combinations = new Map([node.tags, ...tagged].map((tags) => [formatTags(tags), tags]))
      for (const tags of combinations.values()) {
        const position = { node, depth, table: undefined, tags }
        const caller = subjects.find(request.principal)
        const evaluation = createEvaluation({ ...request, id: undefined }, caller, position)
        const allBeneath = decideIn(evaluation)
        if (!allBeneath.allowed) return allBeneath
        for (const { denies } of beneath) {
          evaluation.openDeny = undefined
          const denied = (denies && findFirst(denies, evaluation, anyTable)) ?? evaluation.openDeny
          if (denied !== undefined) return denied.decision
        }
        if (beneath.some((one) => one.stopsInheritance && !decideIn(evaluation, one).allowed)) return noRule
      }
      return own
    },
    ...createVisibility(tree, subjects),
    findRestriction(request) {
      if (!hasRestrictions) return undefined
      const evaluation = startEvaluation(request)
      const found = listRestrictions(evaluation)
      if (found.length === 0) return undefined
      const { position } = evaluation
      const rules = found.map(({ order }) => order).join()
      const key = `${rules} ${position.tags.columns.size === 0 ? '' : position.table}`
      let combined = combinedRestrictions.get(key)
      if (combined === undefined) {
        combined = combineRestrictions(found.flatMap((one) => nameRestriction(one, position.tags)))
        combinedRestrictions.set(key, combined)
      }
      return combined(request.principal)
    },
  }
  return Object.freeze(set)
}
