import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Decision } from '../../src/policy/decision.ts'
import { pending, unknown, type Fact } from '../../src/policy/fact.ts'
import { noFacts, type OperationFacts, type Question } from '../../src/policy/question.ts'
import { policies, question, questionBeneath } from './generated-policies.ts'
import { slowDecide, slowDecideBeneath, type SlowAnswer } from './slow-oracle.ts'
import { writtenConditions } from './written-conditions.ts'
import { setOf, textOf, type WrittenPolicy } from './written-policy.ts'
import { isThorough } from '../thorough.ts'

const questions = fc.array(question, { minLength: 10, maxLength: 10 })
const questionsBeneath = fc.array(questionBeneath, { minLength: 10, maxLength: 10 })

it('decides as a scan of all rules does, and names the same rule', () => {
  fc.assert(
    fc.property(policies, questions, (policies, questions) => {
      const set = setOf(policies)
      for (const question of questions) {
        expect(answerOf(set.decide(question)), show(question)).toEqual(slowDecide(policies, question))
      }
    }),
    { numRuns: isThorough ? 2000 : 500 },
  )
})

it('decides on everything beneath as asking for each thing beneath does', () => {
  fc.assert(
    fc.property(policies, questionsBeneath, (policies, questions) => {
      const set = setOf(policies)
      for (const question of questions) {
        const { allowed, reason } = answerOf(set.decideBeneath(question))
        const expected = slowDecideBeneath(policies, question)
        // A condition on the id counts against the caller, for it is asked about what may come to be, too.
        if (asksFor('object', policies) && !allowed) continue
        expect({ allowed, reason }, show(question)).toEqual({
          allowed: expected.allowed,
          reason: expected.reason,
        })
      }
    }),
    { numRuns: isThorough ? 2000 : 500 },
  )
})

it('says of an object beneath at least what it says of everything beneath', () => {
  fc.assert(
    fc.property(policies, questions, fc.nat(3), (policies, questions, length) => {
      const set = setOf(policies)
      for (const question of questions) {
        const { kind, id } = question
        const top = id.slice(
          0,
          Math.min(length, kind === 'namespace' ? id.length : Math.max(0, id.length - 1)),
        )
        if (set.decideBeneath({ ...question, kind: 'namespace', id: top }).allowed) {
          expect(set.decide(question).allowed, textOf(policies)).toBe(true)
        }
      }
    }),
    { numRuns: isThorough ? 1000 : 250 },
  )
})

/** What may stand in a body that has not been read. */
const unread: OperationFacts = { ...noFacts, branch: pending, metadata: pending }

const bodies: readonly OperationFacts[] = (['main', 'dev', 'ci/7', unknown] satisfies Fact<string>[]).flatMap(
  (branch) =>
    [new Map<string, string>(), new Map([['ticket', 'T-1']])].map((metadata) => ({
      ...noFacts,
      branch,
      metadata,
    })),
)

it('is never certain before the body of what a body could change', () => {
  let certain = 0
  let open = 0
  fc.assert(
    fc.property(policies, questions, (policies, questions) => {
      const set = setOf(policies)
      for (const question of questions) {
        const foreseen = set.foresee({ ...question, operation: unread })
        if (foreseen === undefined) {
          open++
          expect(asksFor('body', policies), textOf(policies)).toBe(true)
          continue
        }
        certain++
        for (const operation of bodies) {
          expect(set.decide({ ...question, operation }).allowed, show(question)).toBe(foreseen.allowed)
        }
      }
    }),
    { numRuns: isThorough ? 2000 : 500 },
  )
  expect(Math.min(certain, open)).toBeGreaterThan(20)
})

it('foresees exactly what it decides where the body is known', () => {
  fc.assert(
    fc.property(policies, questions, (policies, questions) => {
      const set = setOf(policies)
      for (const question of questions) expect(set.foresee(question)).toBe(set.decide(question))
    }),
  )
})

/** Whether a condition or a requirement asks for something that the head of a request does not tell. */
function asksFor(what: 'body' | 'object', policies: readonly WrittenPolicy[]): boolean {
  const isAsked = policies.some(({ rules }) =>
    rules.some(({ when }) => when !== undefined && writtenConditions.get(when)?.asks === what),
  )
  return isAsked || (what === 'body' && policies.some(({ commits }) => commits !== undefined))
}

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
