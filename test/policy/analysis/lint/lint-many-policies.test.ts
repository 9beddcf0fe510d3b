import { expect, it } from 'vitest'
import { compilePolicies } from '../../../../src/policy/policy-set.ts'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { parseDocuments } from '../../parse-documents.ts'

// Comparing all pairs would take minutes.
it('lints thousands of policies in one namespace in seconds', { timeout: 60_000 }, () => {
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
