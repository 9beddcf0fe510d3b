import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Decision } from '../../src/policy/decision.ts'
import { pending, unknown, type Fact } from '../../src/policy/fact.ts'
import { noFacts, type OperationFacts, type Question } from '../../src/policy/question.ts'
import { policies, question, questionBeneath } from './generated-policies.ts'
import { slowDecide, slowDecideBeneath, type SlowAnswer } from './slow-oracle.ts'
import { setOf, textOf } from './written-policy.ts'
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

/** Every condition asks for the id. */
const askingForIds = policies.map((written) =>
  written.map((policy) => ({
    ...policy,
    rules: policy.rules.map((rule) => ({ ...rule, ...(rule.when && { when: 'id.size() == 2' }) })),
  })),
)

it.each([
  ['of any kind', policies],
  ['whose conditions ask for ids', askingForIds],
])('decides on everything beneath as asking for each thing beneath does: policies %s', (_what, policies) => {
  let allowed = 0
  let refusedBeneath = 0
  fc.assert(
    fc.property(policies, questionsBeneath, (policies, questions) => {
      const set = setOf(policies)
      for (const question of questions) {
        const { allowed: isAllowed, reason } = answerOf(set.decideBeneath(question))
        const expected = slowDecideBeneath(policies, question)
        expect({ allowed: isAllowed, reason }, show(question)).toEqual({
          allowed: expected.allowed,
          reason: expected.reason,
        })
        if (isAllowed) allowed++
        else if (set.decide(question).allowed) refusedBeneath++
      }
    }),
    { numRuns: isThorough ? 2000 : 500 },
  )
  expect(Math.min(allowed, refusedBeneath)).toBeGreaterThan(20)
})

it('says of an object beneath at least what it says of everything beneath', () => {
  let allowed = 0
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
          allowed++
          expect(set.decide(question).allowed, textOf(policies)).toBe(true)
        }
      }
    }),
    { numRuns: isThorough ? 1000 : 250 },
  )
  expect(allowed).toBeGreaterThan(20)
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

it('is certain before the body of exactly what no body could change', () => {
  let certain = 0
  let open = 0
  fc.assert(
    fc.property(policies, questions, (policies, questions) => {
      const set = setOf(policies)
      for (const question of questions) {
        const beforeBody = { ...question, operation: unread }
        const foreseen = set.foresee(beforeBody)
        const [worst, best] = (['worst', 'best'] as const).map(
          (outlook) => slowDecide(policies, beforeBody, outlook).allowed,
        )
        expect(foreseen?.allowed, show(question)).toBe(worst === best ? worst : undefined)
        if (foreseen === undefined) open++
        else certain++
        for (const operation of foreseen === undefined ? [] : bodies) {
          expect(set.decide({ ...question, operation }).allowed, show(question)).toBe(worst)
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
