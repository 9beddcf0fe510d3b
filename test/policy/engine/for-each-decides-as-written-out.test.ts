import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isThorough } from '../../support/thorough.ts'
import { parsePolicies } from '../parse-policies.ts'
import { arbitraryPolicies } from '../policy-arbitraries.ts'
import { formatPolicies, type WrittenPolicy } from '../policy-builder.ts'

const values = ['a', 'b', 'sales']

/** Policies with `{x}` as the first name of the namespace, and in groups, tables and conditions. */
const templates = arbitraryPolicies.map((policies) =>
  policies.map((policy): WrittenPolicy => {
    if (policy.namespace.length === 0) return policy
    return {
      ...policy,
      namespace: ['{x}', ...policy.namespace.slice(1)],
      rules: policy.rules.map(({ when, tables, subjects, ...rule }) => ({
        ...rule,
        subjects: { ...subjects, ...(subjects.groups && { groups: ['{x}', 'ops'] }) },
        ...(tables && { tables: tables.map((pattern) => pattern.replace('a', '{x}')) }),
        ...(when !== undefined && { when: `branch != "{x}" && id.exists(name, name == "{x}")` }),
      })),
    }
  }),
)

const isTemplate = ({ namespace }: WrittenPolicy): boolean => namespace.includes('{x}')

/** The documents without their positions, with the names that they have if they are written out. */
function parse(policies: readonly object[]) {
  const { documents, problems } = parsePolicies(formatPolicies(policies as WrittenPolicy[]), 'p.yaml')
  expect(problems).toEqual([])
  const nowhere = { line: 0, column: 0 }
  return documents.map((document) => ({
    ...document,
    ...nowhere,
    name: document.name.replace(/\[(.*)\]/, '-$1'),
    instance: undefined,
    rules: document.rules.map((rule) => ({ ...rule, ...nowhere })),
  }))
}

it('a policy with forEach is parsed as one policy for each value', () => {
  fc.assert(
    fc.property(templates, (policies) => {
      const writtenOut = policies.flatMap((policy) => {
        const each = (value: string) => JSON.stringify(policy).replaceAll('{x}', value)
        return isTemplate(policy)
          ? values.map((value) => ({ ...JSON.parse(each(value)), name: `${policy.name}-${value}` }))
          : [policy]
      })
      const written = policies.map((policy) =>
        isTemplate(policy) ? { ...policy, forEach: { x: values } } : policy,
      )
      expect(parse(written)).toEqual(parse(writtenOut))
    }),
    { numRuns: isThorough ? 2000 : 65 },
  )
})
