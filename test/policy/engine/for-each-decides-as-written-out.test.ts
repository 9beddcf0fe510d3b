import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AuthorizationRequest } from '../../../src/policy/conditions/authorization-request.ts'
import type { Decision } from '../../../src/policy/engine/decision.ts'
import { parsePolicies } from '../parse-policies.ts'
import { compilePolicies, type PolicySet } from '../../../src/policy/policy-set.ts'
import { isConcealed } from '../../../src/policy/visibility/concealment.ts'
import { isThorough } from '../../support/thorough.ts'
import { arbitraryPolicies, arbitraryRequest, arbitraryRequestBeneath } from '../policy-arbitraries.ts'
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

function isTemplate({ namespace }: WrittenPolicy): boolean {
  return namespace.includes('{x}')
}

function compile(policies: readonly object[]): PolicySet {
  const { documents, problems } = parsePolicies(formatPolicies(policies as WrittenPolicy[]), 'p.yaml')
  expect(problems).toEqual([])
  return compilePolicies(documents)
}

function compileTemplates(policies: readonly WrittenPolicy[]): PolicySet {
  return compile(
    policies.map((policy) => (isTemplate(policy) ? { ...policy, forEach: { x: values } } : policy)),
  )
}

function compileWrittenOut(policies: readonly WrittenPolicy[]): PolicySet {
  return compile(
    policies.flatMap((policy): readonly object[] =>
      isTemplate(policy)
        ? values.map((value) => ({
            ...(JSON.parse(JSON.stringify(policy).replaceAll('{x}', value)) as object),
            name: `${policy.name}-${value}`,
          }))
        : [policy],
    ),
  )
}

/** A decision without the revision and the line, with the name as in a policy that is written out. */
function summarize({ allowed, rule }: Decision): string {
  return `${allowed} ${rule?.policy.replace('[', '-').replace(']', '')} ${rule?.rule}`
}

/** Callers in a group with the name of a value. */
function withGroup(request: AuthorizationRequest, value: string | undefined): AuthorizationRequest {
  const { principal } = request
  if (value === undefined || principal.method === 'anonymous') return request
  return { ...request, principal: { ...principal, groups: new Set([...principal.groups, value]) } }
}

const requests = fc.array(
  fc.tuple(arbitraryRequest, fc.option(fc.constantFrom(...values), { nil: undefined })),
  {
    minLength: 10,
    maxLength: 10,
  },
)
const requestsBeneath = fc.array(arbitraryRequestBeneath, { minLength: 5, maxLength: 5 })

it('a policy with forEach decides, conceals and shows as one policy for each value', () => {
  let byInstance = 0
  let shown = 0
  fc.assert(
    fc.property(templates, requests, requestsBeneath, (policies, requests, beneath) => {
      const [template, writtenOut] = [compileTemplates(policies), compileWrittenOut(policies)]
      expect(template.documents.length).toBe(writtenOut.documents.length)
      for (const [plain, value] of requests) {
        const request = withGroup(plain, value)
        const decision = template.decide(request)
        expect(summarize(decision)).toBe(summarize(writtenOut.decide(request)))
        expect(isConcealed(template, request)).toBe(isConcealed(writtenOut, request))
        const kind = request.kind === 'namespace' ? 'namespace' : 'table'
        const isShown = template.visibilityFor(request)(kind, request.id)
        expect(isShown).toBe(writtenOut.visibilityFor(request)(kind, request.id))
        if (decision.rule?.policy.includes('[')) byInstance += 1
        if (isShown) shown += 1
      }
      for (const request of beneath)
        expect(summarize(template.decideBeneath(request))).toBe(summarize(writtenOut.decideBeneath(request)))
    }),
    { numRuns: isThorough ? 2000 : 65 },
  )
  expect(Math.min(byInstance, shown)).toBeGreaterThan(5)
})
