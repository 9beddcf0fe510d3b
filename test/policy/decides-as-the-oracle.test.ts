import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Decision } from '../../src/policy/decision.ts'
import { policies, question, questionBeneath } from './generated-policies.ts'
import { slowDecide, slowDecideBeneath, type SlowAnswer } from './slow-oracle.ts'
import { setOf, textOf, type Question } from './written-policy.ts'

const questions = fc.array(question, { minLength: 10, maxLength: 10 })
const questionsBeneath = fc.array(questionBeneath, { minLength: 10, maxLength: 10 })

it('decides as a scan of all rules does, and names the same rule', () => {
  fc.assert(
    fc.property(policies, questions, (policies, questions) => {
      const set = setOf(policies)
      for (const question of questions) {
        const { principal, permission, kind, id } = question
        expect(answerOf(set.decide(principal, permission, kind, id)), show(question)).toEqual(
          slowDecide(policies, question),
        )
      }
    }),
    { numRuns: 1000 },
  )
})

it('decides on everything beneath as asking for each thing beneath does', () => {
  fc.assert(
    fc.property(policies, questionsBeneath, (policies, questions) => {
      const set = setOf(policies)
      for (const question of questions) {
        const { principal, permission, id } = question
        const { allowed, reason } = answerOf(set.decideBeneath(principal, permission, id))
        const expected = slowDecideBeneath(policies, question)
        expect({ allowed, reason }, show(question)).toEqual({
          allowed: expected.allowed,
          reason: expected.reason,
        })
      }
    }),
    { numRuns: 1000 },
  )
})

it('says of an object beneath at least what it says of everything beneath', () => {
  fc.assert(
    fc.property(policies, questions, fc.nat(3), (policies, questions, length) => {
      const set = setOf(policies)
      for (const { principal, permission, kind, id } of questions) {
        const top = id.slice(
          0,
          Math.min(length, kind === 'namespace' ? id.length : Math.max(0, id.length - 1)),
        )
        if (set.decideBeneath(principal, permission, top).allowed) {
          expect(set.decide(principal, permission, kind, id).allowed, textOf(policies)).toBe(true)
        }
      }
    }),
    { numRuns: 500 },
  )
})

function answerOf(decision: Decision): SlowAnswer {
  return {
    allowed: decision.allowed,
    reason: decision.allowed ? undefined : decision.reason,
    rule: decision.rule && `${decision.rule.policy}/${decision.rule.rule}`,
  }
}

function show({ principal, permission, kind, id }: Question): string {
  return `${principal.name} [${[...principal.groups].join()}] ${permission} ${kind} ${JSON.stringify(id)}`
}
