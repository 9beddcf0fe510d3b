import type { Identifier } from '../interface/identifiers.ts'
import { permissionGroups, type Permission } from '../interface/permissions.ts'
import { about, type Finding } from './finding.ts'
import type { PolicyDocument, PolicyRule } from './policy-document.ts'
import { namesOfPermissions } from './permission-names.ts'
import { documentsAbove, indexDocuments, type DocumentIndex } from './rule-reach.ts'
import { rulesBySubject, rulesNamingAny, type PlacedRule, type RulesBySubject } from './rules-by-subject.ts'
import { concernOf, knownBy, subjectsIn } from './subject-logic.ts'

const risky: ReadonlySet<Permission> = new Set(
  ['admin', 'drop', 'credentials'].flatMap((group) => permissionGroups.get(group) ?? []),
)

/** Rules that cannot decide, that others make needless, or that allow everybody what few should do. */
export function lintRules(documents: readonly PolicyDocument[]): readonly Finding[] {
  const index = indexDocuments(documents)
  const forAnonymous = placedRules(documents).filter(({ rule }) => isGrantToAnonymous(rule))
  const allows = rulesBySubject(documents, 'allow')
  const denies = rulesBySubject(documents, 'deny')
  const order = new Map(documents.flatMap(({ rules }) => rules).map((rule, place) => [rule, place]))
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const placed = { document, rule }
      return [
        ...(rule.effect === 'allow' ? powerless(placed, denies, index) : []),
        ...needless(placed, rule.effect === 'allow' ? allows : denies, index, order),
        ...forEverybody(placed),
        ...notForAnonymous(placed, forAnonymous, index),
      ]
    }),
  )
}

/** Operations of a rule that allows which a namespace above reserves, or which a rule denies to all it allows. */
function powerless(
  { document, rule }: PlacedRule,
  denies: RulesBySubject,
  index: DocumentIndex,
): readonly Finding[] {
  const above = documentsOver(index, document.namespace)
  const denying = rulesNamingAny(denies, document.namespace, subjectsIn(rule.subjects)).filter(
    (other) => other.rule.condition === undefined && coversAll(other, { document, rule }),
  )
  const lost = new Map<string, Permission[]>()
  for (const permission of rule.permissions) {
    const cause = reserving(above, permission) ?? denyingOne(denying, permission)
    if (cause !== undefined) lost.set(cause, [...(lost.get(cause) ?? []), permission])
  }
  const count = [...lost.values()].flat().length
  if (count === 0) return []
  const causes = [...lost].map(
    ([cause, permissions]) => `${namesOfPermissions(new Set(permissions))}: ${cause}`,
  )
  const isAll = count === rule.permissions.size
  // A group of operations names more than one may mean, so a part of it is worth a word and no more.
  const said = isAll ? 'can never allow anything' : 'never allows some of its operations'
  return [about(document, rule, isAll ? 'error' : 'info', 'unreachable', `${said}: ${causes.join('; ')}`)]
}

function reserving(above: readonly PolicyDocument[], permission: Permission): string | undefined {
  const by = above.find((other) => other.final.has(permission))
  return by && `final in ${by.name} (${by.file}:${by.line})`
}

function denyingOne(denying: readonly PlacedRule[], permission: Permission): string | undefined {
  const by = denying.find(({ rule }) => rule.permissions.has(permission))
  return by && `denied by ${by.document.name}/${by.rule.id} (${by.document.file}:${by.rule.line})`
}

/** Whether a rule covers every object and concerns every caller of the other one. */
function coversAll(wider: PlacedRule, own: PlacedRule): boolean {
  return coversTables(wider, own) && concernsAllOf(wider.rule, own.rule)
}

/** Rules that say nothing which another rule does not say, for the same callers and as much or more. */
function needless(
  { document, rule }: PlacedRule,
  likes: RulesBySubject,
  index: DocumentIndex,
  order: ReadonlyMap<PolicyRule, number>,
): readonly Finding[] {
  for (const { document: other, rule: wider } of rulesNamingAny(
    likes,
    document.namespace,
    subjectsIn(rule.subjects),
  )) {
    const isWider =
      wider !== rule &&
      (wider.condition === undefined || wider.condition.text === rule.condition?.text) &&
      [...rule.permissions].every((permission) => wider.permissions.has(permission)) &&
      coversAll({ document: other, rule: wider }, { document, rule }) &&
      reaches({ document: other, rule: wider }, document, index)
    if (!isWider) continue
    const isSame = other === document || other.namespace.length === document.namespace.length
    const isMutual = isSame && rule.permissions.size === wider.permissions.size && concernsAllOf(rule, wider)
    if (isMutual && (order.get(rule) ?? 0) < (order.get(wider) ?? 0)) continue
    const place = `${other.name}/${wider.id} (${other.file}:${wider.line})`
    return [about(document, rule, 'warning', 'shadowed', `says nothing that ${place} does not say`)]
  }
  return []
}

/** Whether what the rule above allows reaches the namespace and whatever the other rule reaches from there. */
function reaches(
  { document, rule }: PlacedRule,
  { namespace }: PolicyDocument,
  index: DocumentIndex,
): boolean {
  if (rule.effect === 'deny') return true
  const isAbove = document.namespace.length < namespace.length
  const between = isAbove
    ? documentsAbove(index, namespace).filter((other) => other.namespace.length > document.namespace.length)
    : []
  if (between.some(({ inherit }) => !inherit)) return false
  return !documentsOver(index, document.namespace).some((other) =>
    [...rule.permissions].some((permission) => other.final.has(permission)),
  )
}

/** The policies of the namespaces above, without those of the namespace itself. */
function documentsOver(index: DocumentIndex, namespace: Identifier): readonly PolicyDocument[] {
  return namespace.length === 0 ? [] : documentsAbove(index, namespace.slice(0, -1))
}

/** Whether a rule, here or above, covers every object that the other one covers. */
function coversTables({ document, rule }: PlacedRule, own: PlacedRule): boolean {
  if (rule.tables === undefined) return true
  if (document.namespace.length !== own.document.namespace.length) return false
  return own.rule.tables?.every((pattern) => rule.tables?.includes(pattern)) === true
}

/** Whether a rule concerns every caller whom the other one concerns. */
function concernsAllOf(rule: PolicyRule, own: PolicyRule): boolean {
  return subjectsIn(own.subjects).every((subject) => {
    const known = knownBy(subject)
    if (concernOf(own.subjects, known) === false) return true
    if (concernOf(rule.subjects, known) === true) return true
    // The same exceptions leave the same callers.
    const isLike = JSON.stringify(rule.subjects) === JSON.stringify(own.subjects)
    return isLike
  })
}

function forEverybody({ document, rule }: PlacedRule): readonly Finding[] {
  const granted = new Set([...rule.permissions].filter((permission) => risky.has(permission)))
  if (rule.effect === 'deny' || granted.size === 0) return []
  const { any, anonymous } = rule.subjects
  const names = namesOfPermissions(granted)
  const said = [
    ...(any ? [`allows ${names} to every caller; name users or groups instead of "any"`] : []),
    ...(anonymous ? [`allows ${names} to callers without a credential; name users or groups instead`] : []),
  ]
  return said.map((what) => about(document, rule, 'warning', 'everybody', what))
}

/** A deny that is meant for everybody, where a rule allows the same to callers without a credential. */
function notForAnonymous(
  own: PlacedRule,
  forAnonymous: readonly PlacedRule[],
  index: DocumentIndex,
): readonly Finding[] {
  const { effect, subjects, permissions } = own.rule
  if (effect === 'allow' || !subjects.any || subjects.anonymous) return []
  const grant = forAnonymous.find(
    (other) =>
      [...permissions].some((permission) => other.rule.permissions.has(permission)) &&
      overlap(own, other, index),
  )
  if (grant === undefined) return []
  const { document, rule } = grant
  const place = `${document.name}/${rule.id} (${document.file}:${rule.line})`
  const what = `does not cover callers without a credential, whom ${place} allows the same; add "anonymous: true"`
  return [about(own.document, own.rule, 'warning', 'anonymous', what)]
}

/** Whether there may be something that both rules are about. */
function overlap(one: PlacedRule, other: PlacedRule, index: DocumentIndex): boolean {
  const [upper, lower] =
    one.document.namespace.length < other.document.namespace.length ? [one, other] : [other, one]
  const above = upper.document.namespace
  const { namespace } = lower.document
  if (!above.every((part, depth) => part === namespace[depth])) return false
  if (above.length < namespace.length && upper.rule.tables !== undefined) return false
  return reaches(upper, lower.document, index)
}

function isGrantToAnonymous({ effect, subjects }: PolicyRule): boolean {
  return effect === 'allow' && subjects.anonymous
}

function placedRules(documents: readonly PolicyDocument[]): readonly PlacedRule[] {
  return documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
}
