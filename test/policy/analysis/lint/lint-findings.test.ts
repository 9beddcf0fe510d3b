import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { compilePolicySet, type WrittenPolicy } from '../../policy-builder.ts'
import { readWrittenCases } from '../../written-cases.ts'

// The kind of a case is the check of its findings, and its text has policies by name.
it.each(readWrittenCases(new URL('lint-findings.txt', import.meta.url)))(
  '$kind: $text',
  ({ kind, text, messages }) => {
    const policies = Object.entries(parse(text) as Record<string, Omit<WrittenPolicy, 'name'>>)
    const findings = lintPolicies(compilePolicySet(policies.map(([name, policy]) => ({ name, ...policy }))))
    const found = findings.filter(({ check }) => check === kind)
    expect(found.map(({ level, message }) => `${level} ${message}`)).toEqual(messages)
  },
)
