import { expect, it } from 'vitest'
import { parsePolicies } from '../../../src/policy/language/parse-policies.ts'
import { toEmergencyDocuments } from '../../../src/policy/source/emergency-policies.ts'
import { formatPolicies } from '../policy-builder.ts'

const rule = { id: 'r', effect: 'deny' as const, subjects: { any: true as const }, operations: ['write'] }
const template = { name: 'teams', forEach: { team: ['crm', 'hr'] }, namespace: ['{team}'], rules: [rule] }

function load(policy: typeof template & { readonly onDeny?: 404 }) {
  return toEmergencyDocuments(parsePolicies(formatPolicies([policy]), 'emergency:deny.yaml').documents)
}

it('an emergency policy with forEach is one for each value', () => {
  expect(load(template).map(({ name }) => name)).toEqual(['emergency:teams[crm]', 'emergency:teams[hr]'])
})

it('what it may not have is an error once', () => {
  expect(() => load({ ...template, onDeny: 404 })).toThrow(
    /^emergency:deny\.yaml:1:\d+: onDeny in the emergency folder; expected only rules with effect: deny$/,
  )
})
