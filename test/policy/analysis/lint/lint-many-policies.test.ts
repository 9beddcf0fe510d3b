import { expect, it } from 'vitest'
import { createBypassCheck } from '../../../../src/policy/analysis/lint/lint-bypass.ts'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { createRuleIndex } from '../../../../src/policy/analysis/lint/check.ts'
import { compilePolicies, type PolicySet } from '../../../../src/policy/policy-set.ts'
import { isThorough } from '../../../support/thorough.ts'
import { parseDocuments } from '../../policy-builder.ts'

// Comparing all pairs would take minutes.
it.runIf(isThorough)('lints thousands of policies in one namespace in seconds', { timeout: 60_000 }, () => {
  const documents = parseDocuments(
    Array.from({ length: 3_000 }, (_, number) => ({
      name: `team-${number}`,
      namespace: ['shared'],
      rules: [
        {
          id: 'own-table',
          effect: 'allow' as const,
          subjects: { groups: [`team-${number}`] },
          operations: ['drop'],
          tables: [`table${number}.*`],
        },
      ],
    })),
  )
  const begin = performance.now()
  const findings = lintPolicies(compilePolicies(documents))
  expect(performance.now() - begin).toBeLessThan(15_000)
  expect(new Set(findings.map(({ check }) => check))).toEqual(new Set(['pattern']))
  expect(findings).toHaveLength(3_000)
})

it('limits the callers tried per rule, however many rules are above', () => {
  const above = Array.from({ length: 300 }, (_, at) => ({
    id: `r${at}`,
    effect: 'allow' as const,
    subjects: { groups: [`g${at}`] },
    operations: ['drop'],
  }))
  const branches = {
    id: 'ci',
    effect: 'allow' as const,
    subjects: { any: true as const },
    operations: ['write'],
    when: 'branch.like("ci/*")',
  }
  const set = compilePolicies(
    parseDocuments([
      { name: 'top', namespace: [], rules: above },
      { name: 'p', namespace: ['a'], rules: [branches] },
    ]),
  )
  const tried = new Set<string>()
  const counting: PolicySet = {
    ...set,
    evaluate(request, visit) {
      tried.add(JSON.stringify([...request.caller.groups]))
      return set.evaluate(request, visit)
    },
  }
  const index = createRuleIndex(counting)
  expect(index.rules.flatMap(createBypassCheck(index))).toEqual([])
  expect(tried.size).toBeLessThan(30)
})
