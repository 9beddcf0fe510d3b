import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { namespaceKey } from '../../engine/object-position.ts'
import { anySubject, listSubjects, type Subject } from '../../engine/subject.ts'

export type RulesBySubject = ReadonlyMap<string, readonly LocatedRule[]>

/** Maximum number of rules returned per subject and namespace; bounds the time of lint. */
export const maxRules = 200

export function indexRulesBySubject(
  documents: readonly PolicyDocument[],
  effect: PolicyRule['effect'],
): RulesBySubject {
  const byKey = new Map<string, LocatedRule[]>()
  for (const document of documents) {
    for (const rule of document.rules) {
      if (rule.effect !== effect) continue
      const located = { document, rule }
      for (const subject of listSubjects(rule.subjects)) {
        const key = subjectKey(document.namespace, subject)
        const others = byKey.get(key)
        if (others === undefined) byKey.set(key, [located])
        else others.push(located)
      }
    }
  }
  return byKey
}

/** Returns the rules of a namespace that name the subject, or every authenticated caller. */
export function rulesForSubject(
  rules: RulesBySubject,
  namespace: Identifier,
  subject: Subject,
): readonly LocatedRule[] {
  const named = subject.kind === 'any' ? [anySubject] : [subject, anySubject]
  return named.flatMap((one) => rules.get(subjectKey(namespace, one))?.slice(0, maxRules) ?? [])
}

/** Returns the rules from the root to the namespace that name one of the subjects, or every authenticated caller. */
export function rulesForSubjects(
  rules: RulesBySubject,
  namespace: Identifier,
  subjects: readonly Subject[],
): readonly LocatedRule[] {
  const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth))
  const named = [anySubject, ...subjects.filter((subject) => subject !== anySubject)]
  return paths.flatMap((path) =>
    named.flatMap((subject) => rules.get(subjectKey(path, subject))?.slice(0, maxRules) ?? []),
  )
}

function subjectKey(namespace: Identifier, { kind, name }: Subject): string {
  // Names contain no NUL.
  return `${namespaceKey(namespace)}\0${kind}\0${name}`
}
