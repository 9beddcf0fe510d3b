import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createEffectCheck } from '../../../../src/policy/analysis/lint/lint-effects.ts'
import { createRuleIndex } from '../../../../src/policy/analysis/lint/check.ts'
import { isThorough } from '../../../support/thorough.ts'
import { arbitraryPolicies, arbitraryRequest } from '../../policy-arbitraries.ts'
import { oracleDecide } from '../../decision-oracle.ts'
import { conditionSamples } from '../../policy-conditions.ts'
import {
  compilePolicySet,
  formatPolicies,
  type WrittenPolicy,
  type WrittenRule,
} from '../../policy-builder.ts'

const numRuns = isThorough ? 3000 : 40

function shadowed(policies: readonly WrittenPolicy[]): ReadonlySet<string> {
  const index = createRuleIndex(compilePolicySet(policies))
  const check = createEffectCheck(index)
  const found = index.rules.filter((own) => check(own).some(([, name]) => name === 'shadowed'))
  return new Set(found.map(({ document, rule }) => `${document.name}/${rule.id}`))
}

function without(policies: readonly WrittenPolicy[], closed: ReadonlySet<string>): readonly WrittenPolicy[] {
  return policies.map((policy) => ({
    ...policy,
    rules: policy.rules.filter(({ id }) => !closed.has(`${policy.name}/${id}`)),
  }))
}

const namespace = fc.constantFrom<readonly string[]>([], ['a'], ['a'], ['a', 'b'])
const operations = fc.uniqueArray(fc.constantFrom('QueryTable', 'ListTables', 'DropTable', 'read'), {
  minLength: 1,
  maxLength: 3,
})
const groups = fc.uniqueArray(fc.constantFrom('sales', 'ops'), { minLength: 1 })
const plainRule = fc.record({
  subjects: fc.record({ groups }),
  operations,
  effect: fc.constant('allow' as const),
})

/** Similar rules, which often cover each other. */
const alike: fc.Arbitrary<Omit<WrittenRule, 'id'>> = fc
  .record(
    {
      effect: fc.constantFrom('allow', 'allow', 'allow', 'allow', 'deny'),
      subjects: fc.oneof(
        { weight: 6, arbitrary: fc.record({ groups }) },
        fc.constantFrom(
          { any: true as const },
          { groups: ['sales'], except: { users: ['bob'] } },
          { anonymous: true as const },
        ),
      ),
      operations: operations.map((some) => [...some, 'DropTable']),
      tables: fc.constantFrom(['a'], ['b*'], ['a', 'b*']),
      when: fc.constantFrom(...[...conditionSamples.keys()].slice(0, 2)),
    },
    { requiredKeys: ['effect', 'subjects', 'operations'] },
  )
  .map(({ tables, when, ...rule }) => ({ ...rule, ...(tables && { tables }), ...(when && { when }) }))

function policiesOf(rule: fc.Arbitrary<Omit<WrittenRule, 'id'>>): fc.Arbitrary<readonly WrittenPolicy[]> {
  const some = fc.record({
    namespace,
    inherit: fc.constantFrom(true, true, true, false),
    final: fc.constantFrom<readonly string[]>([], [], [], ['DropTable']),
    rules: fc.array(rule, { minLength: 1, maxLength: 4 }),
  })
  return fc.array(some, { minLength: 1, maxLength: 3 }).map((all) =>
    all.map(({ final, rules, ...policy }, index) => ({
      ...policy,
      name: `p${index}`,
      ...(final.length > 0 && { final }),
      rules: rules.map((rule, index) => ({ ...rule, id: `r${index}` })),
    })),
  )
}

it.each([
  ['that have much in common', policiesOf(fc.oneof(plainRule, alike))],
  ['of any kind', arbitraryPolicies],
])('removing all rules reported as redundant changes no decision: policies %s', (what, written) => {
  let redundantCount = 0
  fc.assert(
    fc.property(
      written,
      fc.array(arbitraryRequest, { minLength: 20, maxLength: 20 }),
      (policies, requests) => {
        const closed = shadowed(policies)
        if (closed.size === 0) return
        redundantCount++
        const left = without(policies, closed)
        for (const request of requests) {
          const before = oracleDecide(policies, request).allowed
          expect(oracleDecide(left, request).allowed, formatPolicies(policies)).toBe(before)
        }
      },
    ),
    { numRuns },
  )
  if (what !== 'of any kind') expect(redundantCount).toBeGreaterThan(numRuns / 50)
})

function rule(id: string, operations: readonly string[]): WrittenRule {
  return { id, effect: 'allow', subjects: { groups: ['ops'] }, operations }
}

it('reports a rule that several others cover together, in any order', () => {
  const below = {
    name: 'below',
    namespace: ['a'],
    rules: [rule('some', ['query']), rule('both', ['query', 'write'])],
  }
  const top = { name: 'top', namespace: [], rules: [rule('writes', ['write']), rule('reads', ['read'])] }
  expect(shadowed([below])).toEqual(new Set(['below/some']))
  expect(shadowed([below, top])).toEqual(new Set(['below/some', 'below/both']))
})
