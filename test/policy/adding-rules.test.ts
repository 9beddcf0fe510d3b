import fc from 'fast-check'
import { expect, it } from 'vitest'
import { policies, question, questionBeneath, rule } from './generated-policies.ts'
import type { Question } from '../../src/policy/question.ts'
import { setOf, type WrittenPolicy, type WrittenRule } from './written-policy.ts'

const questions = fc.array(fc.oneof(question, questionBeneath), { minLength: 10, maxLength: 10 })
const namespace = fc.array(fc.constantFrom('a', 'b'), { maxLength: 3 })

it('adding a deny allows nothing more', () => {
  fc.assert(
    fc.property(
      policies,
      namespace,
      rule(fc.constant('deny')),
      questions,
      (policies, namespace, rule, questions) => {
        expectNoneMore(withRule(policies, namespace, rule), policies, questions)
      },
    ),
    { numRuns: 500 },
  )
})

it('adding an allow denies nothing more', () => {
  fc.assert(
    fc.property(
      policies,
      namespace,
      rule(fc.constant('allow')),
      questions,
      (policies, namespace, rule, questions) => {
        expectNoneMore(policies, withRule(policies, namespace, rule), questions)
      },
    ),
    { numRuns: 500 },
  )
})

it('without rules everything is denied', () => {
  fc.assert(
    fc.property(policies, questions, (policies, questions) => {
      const set = setOf(policies.map(({ name, namespace }) => ({ name, namespace, rules: [] })))
      for (const question of questions) {
        expect(set.decide(question)).toMatchObject({
          allowed: false,
          reason: 'no_rule',
        })
        expect(set.decideBeneath({ ...question, kind: 'namespace' })).toMatchObject({
          allowed: false,
          reason: 'no_rule',
        })
      }
    }),
  )
})

function withRule(
  policies: readonly WrittenPolicy[],
  namespace: readonly string[],
  rule: Omit<WrittenRule, 'id'>,
): readonly WrittenPolicy[] {
  return [...policies, { name: 'added', namespace, rules: [{ ...rule, id: 'added' }] }]
}

function expectNoneMore(
  fewer: readonly WrittenPolicy[],
  more: readonly WrittenPolicy[],
  questions: readonly Question[],
): void {
  const [lesser, greater] = [setOf(fewer), setOf(more)]
  for (const question of questions) {
    if (lesser.decide(question).allowed) {
      expect(greater.decide(question).allowed).toBe(true)
    }
    if (question.kind === 'namespace' && lesser.decideBeneath(question).allowed) {
      expect(greater.decideBeneath(question).allowed).toBe(true)
    }
  }
}
