import { expect, it } from 'vitest'
import { getOperation, operationNames } from '../../../../src/catalog-api/operations.ts'
import { permissionGroups } from '../../../../src/catalog-api/permissions.ts'
import { lintPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { compilePolicySet } from '../../policy-builder.ts'

function findingsFor(subjects: { any: true } | { anonymous: true }, operation: string): readonly string[] {
  const rule = { id: 'r', effect: 'allow' as const, subjects, operations: [operation] }
  return lintPolicies(compilePolicySet([{ name: 'p', namespace: [], rules: [rule] }]))
    .filter(({ check }) => check === 'everybody')
    .map(({ message }) => message)
}

it.each(['browse', 'query', 'write', 'create', 'commit'])(
  'the group %s may be granted to everybody without a warning',
  (group) => {
    for (const permission of permissionGroups.get(group) ?? []) {
      expect([permission, findingsFor({ any: true }, permission)]).toEqual([permission, []])
    }
  },
)

it('warns of every other permission that everybody is granted, those of no group included', () => {
  const ungrouped = operationNames.map(getOperation).filter(({ group }) => group === undefined)
  const risky = [
    ...['admin', 'drop', 'credentials'].flatMap((group) => permissionGroups.get(group) ?? []),
    ...ungrouped.map(({ name }) => name),
    'ReferenceData',
  ]
  expect(risky).toContain('AddGrant')
  for (const permission of risky) {
    expect(findingsFor({ any: true }, permission)).toEqual([
      expect.stringContaining(`allows ${permission} to every caller; name users or groups`),
    ])
    expect(findingsFor({ anonymous: true }, permission)).toEqual([
      expect.stringContaining(`allows ${permission} to callers without a credential`),
    ])
  }
})
