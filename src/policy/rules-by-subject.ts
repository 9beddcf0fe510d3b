import type { Identifier } from '../interface/identifiers.ts'
import type { PolicyDocument, PolicyRule } from './policy-document.ts'
import { keyOf } from './rule-reach.ts'
import { anybody, subjectsIn, type Subject } from './subject-logic.ts'

/** A rule, and the policy that it stands in. */
export interface PlacedRule {
  readonly document: PolicyDocument
  readonly rule: PolicyRule
}

/** Rules by their namespace and everybody whom they name. */
export type RulesBySubject = ReadonlyMap<string, readonly PlacedRule[]>

/** The most rules that are returned for one subject of one namespace: the time that lint takes must be bounded. */
export const maximumRules = 200

/** The rules of an effect, in their order. */
export function rulesBySubject(
  documents: readonly PolicyDocument[],
  effect: PolicyRule['effect'],
): RulesBySubject {
  const byKey = new Map<string, PlacedRule[]>()
  for (const document of documents) {
    for (const rule of document.rules) {
      if (rule.effect !== effect) continue
      const placed = { document, rule }
      for (const subject of subjectsIn(rule.subjects)) {
        const key = keyOfSubject(document.namespace, subject)
        const others = byKey.get(key)
        if (others === undefined) byKey.set(key, [placed])
        else others.push(placed)
      }
    }
  }
  return byKey
}

/** The rules of a namespace that name the subject, or every authenticated caller. */
export function rulesNaming(
  rules: RulesBySubject,
  namespace: Identifier,
  subject: Subject,
): readonly PlacedRule[] {
  const named = subject.kind === 'any' ? [anybody] : [subject, anybody]
  return named.flatMap((one) => rules.get(keyOfSubject(namespace, one))?.slice(0, maximumRules) ?? [])
}

/** The rules from the root down to the namespace that name one of those, or every authenticated caller. */
export function rulesNamingAny(
  rules: RulesBySubject,
  namespace: Identifier,
  subjects: readonly Subject[],
): readonly PlacedRule[] {
  const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth))
  const named = [anybody, ...subjects.filter((subject) => subject !== anybody)]
  return paths.flatMap((path) =>
    named.flatMap((subject) => rules.get(keyOfSubject(path, subject))?.slice(0, maximumRules) ?? []),
  )
}

function keyOfSubject(namespace: Identifier, { kind, name }: Subject): string {
  // No name holds a NUL.
  return `${keyOf(namespace)}\0${kind}\0${name}`
}
