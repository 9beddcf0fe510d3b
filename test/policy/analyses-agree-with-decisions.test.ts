import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anonymousPrincipal, type Principal } from '../../src/identity/principal.ts'
import { applies, explainDecision } from '../../src/policy/explain.ts'
import { matcherOf } from '../../src/policy/name-pattern.ts'
import type { NamedSubjects, Subjects } from '../../src/policy/policy-document.ts'
import type { Question } from '../../src/policy/question.ts'
import { mostSpecific, positionOf, referenceTo, type ReachingRule } from '../../src/policy/rule-reach.ts'
import type { Subject } from '../../src/policy/subject-logic.ts'
import { whatCan } from '../../src/policy/what-can.ts'
import { whoCan } from '../../src/policy/who-can.ts'
import { documentsOf } from './documents-of.ts'
import { policies, question } from './generated-policies.ts'
import { caller, setOf, textOf } from './written-policy.ts'

const questions = fc.array(question, { minLength: 10, maxLength: 10 })

it('explain: of the rules that apply, the decision names the most specific that denies, else that allows', () => {
  fc.assert(
    fc.property(policies, questions, (policies, questions) => {
      const [set, documents] = [setOf(policies), documentsOf(policies)]
      for (const question of questions) {
        const applying = explainDecision(documents, question)
          .flatMap(({ rules }) => rules)
          .filter(applies)
        const first = (effect: string) => mostSpecific(applying.filter(({ rule }) => rule.effect === effect))
        const deciding = first('deny') ?? first('allow')
        expect(set.decide(question).rule, textOf(policies)).toEqual(deciding && referenceTo(deciding))
      }
    }),
    { numRuns: 120 },
  )
})

it('who-can: a caller is allowed if and only if an entitlement says so', () => {
  let allowed = 0
  fc.assert(
    fc.property(policies, questions, (policies, questions) => {
      const [set, documents] = [setOf(policies), documentsOf(policies)]
      for (const question of questions) {
        const { permission, kind, id, principal } = question
        const isEntitled = whoCan(documents, permission, kind, id).allowed.some(
          ({ subject, by, except, objections }) =>
            isSubject(principal, subject) &&
            holds(by, question) &&
            !(except !== undefined && isNamed(principal, except)) &&
            !objections.some(
              ({ by, subjects }) =>
                (subjects === undefined || isConcerned(principal, subjects)) && holds(by, question),
            ),
        )
        if (isEntitled) allowed++
        expect(isEntitled, textOf(policies)).toBe(set.decide(question).allowed)
      }
    }),
    { numRuns: 120 },
  )
  expect(allowed).toBeGreaterThan(10)
})

it('who-can: whoever is said to be overruled is denied', () => {
  fc.assert(
    fc.property(policies, question, (policies, question) => {
      const { overruled } = whoCan(documentsOf(policies), question.permission, question.kind, question.id)
      for (const { subject } of overruled) {
        const somebody = caller(question.principal.name, ...question.principal.groups)
        const principal = { ...somebody, ...asPrincipal(subject) }
        expect(setOf(policies).decide({ ...question, principal }).allowed, textOf(policies)).toBe(false)
      }
    }),
  )
})

it('what-can: a caller may do what the nearest entry permits, and nothing else', () => {
  let allowed = 0
  fc.assert(
    fc.property(policies, fc.array(question, { maxLength: 3 }), (policies, questions) => {
      const [set, documents] = [setOf(policies), documentsOf(policies)]
      for (const question of questions) {
        const { permission, kind, id, principal } = question
        const { namespace, table } = positionOf(kind, id)
        const nearest = whatCan(documents, principal)
          .filter((entry) => entry.namespace.every((part, index) => part === namespace[index]))
          .toSorted((one, other) => other.namespace.length - one.namespace.length)[0]
        const isHere = ({ document, rule }: ReachingRule): boolean =>
          rule.tables === undefined ||
          (table !== undefined &&
            document.namespace.length === namespace.length &&
            rule.tables.some((pattern) => matcherOf(pattern)(table)))
        const isPermitted = (nearest?.permits ?? []).some(
          ({ by, permissions, objections }) =>
            permissions.has(permission) &&
            isHere(by) &&
            holds(by, question) &&
            !objections.some(
              (deny) => deny.rule.permissions.has(permission) && isHere(deny) && holds(deny, question),
            ),
        )
        if (isPermitted) allowed++
        expect(isPermitted, textOf(policies)).toBe(set.decide(question).allowed)
      }
    }),
    { numRuns: 120 },
  )
  expect(allowed).toBeGreaterThan(0)
})

function holds({ rule }: ReachingRule, question: Question): boolean {
  try {
    return rule.condition?.holds(question) ?? true
  } catch {
    return rule.effect === 'deny'
  }
}

function isConcerned(principal: Principal, subjects: Subjects): boolean {
  if (principal.method === 'anonymous') return subjects.anonymous
  const isExcepted = subjects.except !== undefined && isNamed(principal, subjects.except)
  return (subjects.any || isNamed(principal, subjects)) && !isExcepted
}

function isNamed({ name, method, groups, credentialId }: Principal, names: NamedSubjects): boolean {
  if (method === 'anonymous') return false
  return (
    names.users.includes(name) ||
    names.keys.includes(credentialId) ||
    names.groups.some((group) => groups.has(group))
  )
}

function isSubject(principal: Principal, { kind, name }: Subject): boolean {
  if (kind === 'any' || kind === 'anonymous')
    return (principal.method === 'anonymous') === (kind === 'anonymous')
  return isNamed(principal, {
    users: kind === 'user' ? [name] : [],
    groups: kind === 'group' ? [name] : [],
    keys: kind === 'key' ? [name] : [],
  })
}

function asPrincipal({ kind, name }: Subject): Partial<Principal> {
  if (kind === 'user') return { name }
  if (kind === 'key') return { credentialId: name }
  if (kind === 'anonymous') return anonymousPrincipal
  return kind === 'group' ? { groups: new Set([name]) } : {}
}
