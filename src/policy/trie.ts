import type { Identifier } from '../interface/identifiers.ts'
import { concealmentOf } from './concealment.ts'
import type { Allowed, Decision, RuleReference } from './decision.ts'
import { decisiveRule } from './decisive-rule.ts'
import { matcherOf, sampleOf } from './name-pattern.ts'
import type { PolicyDocument, PolicyRule, Subjects } from './policy-document.ts'
import { bitOf, bitsOf, withBits } from './permission-bits.ts'
import { emptyNode, nearest, reach, subtree, type PolicyNode } from './policy-node.ts'
import type { EarlyQuestion, Inquiry, Question } from './question.ts'
import { revisionOf } from './revision.ts'
import {
  addRule,
  anyTable,
  emptyIndex,
  firstApplying,
  type Asked,
  type CompiledRule,
  type Outlook,
} from './rule-index.ts'
import { visibilityOf, type Sight, type View, type Viewer } from './visible.ts'

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
   * What `decide` will answer whatever the body says, as far as that is certain before the body has been read;
   * undefined where the body decides. A denial may then name another rule, or give another reason.
   */
  foresee(question: EarlyQuestion): Decision | undefined
  /**
   * Whether the principal may use the permission on a namespace and on everything that is or could come to be
   * beneath it. It does not know what exists: a rule that denies something beneath denies, also if there is
   * nothing it would apply to, and so does a namespace with `inherit: false` beneath that does not itself allow
   * the permission. A condition that asks for the id counts against the caller. Denies where `decide` denies on
   * the namespace. Takes longer the more policies lie beneath.
   */
  decideBeneath(question: Question): Decision
  /** Whether to answer a denial of this question as if the object were not there. */
  conceals(question: EarlyQuestion): boolean
  /** Whether the principal may know that the object is there, so that refusals may admit it. */
  mayKnow(question: EarlyQuestion): boolean
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

/** Takes the errors of conditions: an allow did not apply, or a deny applied, because it could not be told. */
export type ConditionFailed = (rule: RuleReference, effect: 'allow' | 'deny', error: unknown) => void

/** Compiles documents that are valid and whose names are unique, in the order of their files. */
export function compilePolicies(
  documents: readonly PolicyDocument[],
  conditionFailed: ConditionFailed = () => undefined,
): PolicySet {
  const revision = revisionOf(documents)
  const noRule: Decision = Object.freeze({ allowed: false, reason: 'no_rule', revision })
  const root = buildTrie(documents, revision, conditionFailed)

  function look(question: EarlyQuestion, outlook: Outlook): Decision {
    const asked = askedOf(question, question.id, outlook)
    return decisiveRule(nearest(root, question.id, asked.depth), asked)?.decision ?? noRule
  }

  function decide(question: EarlyQuestion): Decision {
    return look(question, 'worst')
  }

  /** Certain is what the worst body would still be allowed, and the best body still denied. */
  function foresee(question: EarlyQuestion): Decision | undefined {
    const worst = look(question, 'worst')
    if (worst.allowed || question.operation !== undefined) return worst
    const best = look(question, 'best')
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

  const visibility = visibilityOf(root, decide)
  return Object.freeze({
    revision,
    size: documents.length,
    decide,
    foresee,
    decideBeneath,
    ...visibility,
    ...concealmentOf(root, decide, visibility.showsBeneath),
  })
}

function askedOf(inquiry: Inquiry, id: Identifier, outlook: Outlook): Asked {
  const { kind, permission } = inquiry
  const isNamespace = kind === 'namespace' || kind === 'none'
  const depth = isNamespace ? id.length : id.length - 1
  return { inquiry, bit: bitOf(permission), table: isNamespace ? undefined : id[depth], depth, outlook }
}

/** The rule that denies the permission on something in the namespace or beneath: the deepest, of these the first. */
function denyBeneath(top: PolicyNode, asked: Asked): CompiledRule | undefined {
  let deny: CompiledRule | undefined
  let depth = 0
  for (const node of subtree(top)) {
    const rule = node.denies && firstApplying(node.denies, asked, anyTable)
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

function buildTrie(
  documents: readonly PolicyDocument[],
  revision: string,
  conditionFailed: ConditionFailed,
): PolicyNode {
  const root = emptyNode(undefined)
  const share = sharing()
  let order = 0
  for (const document of documents) {
    const node = reach(root, document.namespace)
    if (!document.inherit) node.isBoundary = true
    node.final = withBits(node.final, bitsOf(document.final))
    // Of two policies for one namespace, the one that hides more is heard.
    if (document.onDeny !== undefined) node.onDeny = Math.max(document.onDeny, node.onDeny ?? 0) as 403 | 404
    for (const rule of document.rules) {
      const index = rule.effect === 'allow' ? (node.allows ??= emptyIndex()) : (node.denies ??= emptyIndex())
      addRule(
        index,
        compileRule(
          { ...rule, subjects: share(rule.subjects) },
          document,
          order++,
          revision,
          conditionFailed,
        ),
      )
    }
  }
  return root
}

/** One text for all that say the same: many policies name the same callers, and a decision compares them. */
function sharing(): (subjects: Subjects) => Subjects {
  const texts = new Map<string, string>()
  const shared = (text: string): string => texts.get(text) ?? (texts.set(text, text), text)
  return (subjects) => ({
    ...subjects,
    users: subjects.users.map(shared),
    groups: subjects.groups.map(shared),
    keys: subjects.keys.map(shared),
  })
}

function compileRule(
  { id, effect, subjects, permissions, tables, condition, line }: PolicyRule,
  document: PolicyDocument,
  order: number,
  revision: string,
  conditionFailed: ConditionFailed,
): CompiledRule {
  const rule = Object.freeze({ policy: document.name, rule: id, file: document.file, line })
  return {
    order,
    effect,
    subjects,
    ...bitsOf(permissions),
    tables: tables?.map(matcherOf),
    samples: tables?.map(sampleOf),
    condition,
    failed: (error) => conditionFailed(rule, effect, error),
    decision: Object.freeze(
      effect === 'allow'
        ? { allowed: true, rule, revision }
        : { allowed: false, reason: 'denied', rule, revision },
    ),
  }
}
