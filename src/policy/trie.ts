import type { Identifier } from '../interface/identifiers.ts'
import { runAtOnce, type Steps } from '../lib/async/run-in-slices.ts'
import { anyTable, nothingGiven, type Asked, type CompiledRule, type Outlook } from './compiled-rule.ts'
import { concealmentOf } from './concealment.ts'
import type { Allowed, Decision } from './decision.ts'
import type { PolicyDocument } from './policy-document.ts'
import type { Permission } from '../interface/permissions.ts'
import {
  addRule,
  decisiveRule,
  emptyRoot,
  nearest,
  numberNodes,
  reach,
  subtree,
  type PolicyNode,
} from './policy-node.ts'
import type { Inquiry, Question } from './question.ts'
import { ruleCompiler, type CompileRule, type ConditionFailed } from './rule-compiler.ts'
import { revisionSteps } from './revision.ts'
import { numberSubjects } from './subject-numbers.ts'
import { visibilityOf, type Sight, type View, type Viewer, type Visibility } from './visible.ts'

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
  decide(question: Question): Decision
  /**
   * What `decide` will answer whatever the pending facts turn out to be; undefined if they decide. A denial may then
   * name another rule, or give another reason.
   */
  foresee(question: Question): Decision | undefined
  /** Whether the decision on a permission may depend on the time, so that it must hold when a body ends, too. */
  isTimed(permission: Permission): boolean
  /**
   * Whether the principal may use the permission on a namespace and on everything that is or could come to be
   * beneath it. It does not know what exists: a rule that denies something beneath denies, also if there is
   * nothing it would apply to, and so does a namespace with `inherit: false` beneath that does not itself allow
   * the permission. A condition that asks for the id counts against the caller. Denies where `decide` denies on
   * the namespace. Takes longer the more policies lie beneath.
   */
  decideBeneath(question: Question): Decision
  /** Whether to answer a denial of this question as if the object were not there. */
  conceals(question: Question): boolean
  /** Whether the principal may know that the object is there, so that refusals may admit it. */
  mayKnow(question: Question): boolean
  /** Whether the principal may describe an object that it changed, whatever facts a description would state. */
  mayDescribe(question: Question): boolean
  /** Whether the principal may list the tags and the branches of a table, so that errors may name them. */
  mayListReferences(question: Question): boolean
  /**
   * What listings show to the principal: a table that he may describe; a namespace that he may describe, or beneath
   * which he may see something. The latter is told from the policies alone, which do not know what exists: a name
   * that only a condition on the id decides about counts as one that may be seen. Takes longer only the more rules
   * beneath concern the principal without allowing him anything.
   */
  viewOf(viewer: Viewer): View
  /** The decision that makes something beneath a namespace visible; undefined where nothing there can be. */
  showsBeneath(sight: Sight): Allowed | undefined
}

/** Compiles documents that are valid and whose names are unique, in the order of their files. */
export function compilePolicies(
  documents: readonly PolicyDocument[],
  conditionFailed?: ConditionFailed,
): PolicySet {
  return runAtOnce(compileSteps(documents, conditionFailed))
}

/** Does the same as `compilePolicies`, in steps. */
export function* compileSteps(
  documents: readonly PolicyDocument[],
  conditionFailed: ConditionFailed = () => undefined,
): Steps<PolicySet> {
  const revision = yield* revisionSteps(documents)
  const noRule: Decision = Object.freeze({ allowed: false, reason: 'no_rule', revision })
  const subjects = numberSubjects()
  const root = yield* buildTree(documents, ruleCompiler(subjects, revision, conditionFailed))
  const nodes = numberNodes(root)
  const timed = timedPermissions(documents)

  function askedOf(inquiry: Inquiry, id: Identifier, outlook: Outlook): Asked {
    const { principal, kind } = inquiry
    const isNamespace = kind === 'namespace' || kind === 'none'
    const depth = isNamespace ? id.length : id.length - 1
    const table = isNamespace ? undefined : id[depth]
    const caller = subjects.callerOf(principal)
    return {
      inquiry,
      caller,
      table,
      depth,
      outlook,
      given: nothingGiven,
      metCondition: false,
      metPending: false,
    }
  }

  function look(question: Question, asked: Asked): Decision {
    return decisiveRule(nearest(root, question.id, asked.depth), asked)?.decision ?? noRule
  }

  function decide(question: Question): Decision {
    return look(question, askedOf(question, question.id, 'worst'))
  }

  /** Whether it is allowed if pending facts are as the caller wishes. */
  function couldBeAllowed(question: Question): boolean {
    return look(question, askedOf(question, question.id, 'best')).allowed
  }

  /** Conclusive if no value of the pending facts can change the decision. */
  function foresee(question: Question): Decision | undefined {
    const asked = askedOf(question, question.id, 'worst')
    const worst = look(question, asked)
    if (worst.allowed || !asked.metPending) return worst
    const best = look(question, askedOf(question, question.id, 'best'))
    return best.allowed ? undefined : best
  }

  function decideBeneath(question: Question): Decision {
    const own = decide(question)
    const node = nearest(root, question.id, question.id.length)
    if (!own.allowed) return own
    const asked = askedOf({ ...question, id: undefined }, question.id, 'worst')
    const reaching = decisiveRule(node, asked)?.decision ?? noRule
    // Where no policy speaks of the namespace, none speaks of what is beneath it.
    if (!reaching.allowed || node.depth < question.id.length) return reaching
    const denied = denyBeneath(node, asked)?.decision
    return denied ?? (isStoppedBeneath(node, asked) ? noRule : own)
  }

  // Made when something is first listed or concealed, which then takes longer once: many sets are never asked.
  let madeVisibility: Visibility | undefined
  function visibility(): Visibility {
    return (madeVisibility ??= visibilityOf(root, nodes, subjects))
  }

  const showsBeneath = (sight: Sight): Allowed | undefined => visibility().showsBeneath(sight)
  return Object.freeze({
    revision,
    size: documents.length,
    decide,
    foresee,
    isTimed: (permission: Permission) => timed.has(permission),
    decideBeneath,
    viewOf: (viewer: Viewer) => visibility().viewOf(viewer),
    showsBeneath,
    ...concealmentOf(root, couldBeAllowed, showsBeneath),
  })
}

/** The rule that denies the permission on something in the namespace or beneath: the deepest, of these the first. */
function denyBeneath(top: PolicyNode, asked: Asked): CompiledRule | undefined {
  let deny: CompiledRule | undefined
  let depth = 0
  for (const node of subtree(top)) {
    const rule = node.denies?.first(asked, anyTable)
    const isDeeper = deny === undefined || node.depth > depth
    if (rule && (isDeeper || (node.depth === depth && rule.order < (deny?.order ?? 0)))) {
      deny = rule
      depth = node.depth
    }
  }
  return deny
}

/** Whether some namespace there takes nothing from above and is not itself allowed the permission. */
function isStoppedBeneath(top: PolicyNode, asked: Asked): boolean {
  for (const node of subtree(top)) {
    if (node.isBoundary && decisiveRule(node, asked)?.effect !== 'allow') return true
  }
  return false
}

function timedPermissions(documents: readonly PolicyDocument[]): ReadonlySet<Permission> {
  const timed = new Set<Permission>()
  for (const { rules } of documents) {
    for (const { condition, permissions } of rules) {
      if (condition?.readsTime === true) for (const permission of permissions) timed.add(permission)
    }
  }
  return timed
}

function* buildTree(documents: readonly PolicyDocument[], compile: CompileRule): Steps<PolicyNode> {
  const root = emptyRoot()
  let order = 0
  for (const document of documents) {
    const node = reach(root, document.namespace)
    if (!document.inherit) node.isBoundary = true
    if (document.final.size > 0) node.final = new Set([...node.final, ...document.final])
    // Of two policies for one namespace, the one that hides more is heard.
    if (document.onDeny !== undefined) node.onDeny = Math.max(document.onDeny, node.onDeny ?? 0) as 403 | 404
    for (const rule of document.rules) addRule(node, compile(rule, document, order++))
    yield
  }
  return root
}
