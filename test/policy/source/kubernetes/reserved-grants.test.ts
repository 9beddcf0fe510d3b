import { expect, it } from 'vitest'
import { compilePolicies } from '../../../../src/policy/policy-set.ts'
import { findConflict } from '../../../../src/policy/source/kubernetes/kubernetes-policies.ts'
import { parseDocuments } from '../../parse-documents.ts'
import type { WrittenPolicy } from '../../policy-builder.ts'

const grant: WrittenPolicy = {
  name: 'team-a/p',
  namespace: ['prod', 'sales'],
  rules: [
    { id: 'reads', effect: 'allow', subjects: { users: ['a'] }, operations: ['QueryTable'] },
    { id: 'drops', effect: 'allow', subjects: { users: ['a'] }, operations: ['DropTable', 'CreateTable'] },
    { id: 'denies', effect: 'deny', subjects: { users: ['b'] }, operations: ['DropTable'] },
  ],
}

function listGrants(...reserving: readonly Pick<WrittenPolicy, 'namespace' | 'final'>[]): readonly string[] {
  const [document, ...others] = parseDocuments([
    { ...grant, name: 'p' },
    ...reserving.map((each, index) => ({ name: `f${index}`, rules: [], ...each })),
  ])
  const documents = document === undefined ? [] : [document]
  const conflict = findConflict({ reason: 'Accepted', documents }, compilePolicies(others))
  return conflict?.split('\n').slice(1) ?? []
}

it.for<[where: string, namespace: readonly string[], reserved: boolean]>([
  ['the root', [], true],
  ['a namespace above', ['prod'], true],
  ['the namespace itself', ['prod', 'sales'], false],
  ['a namespace beneath', ['prod', 'sales', 'eu'], false],
  ['another namespace', ['dev'], false],
])('operations reserved in %s', ([, namespace, reserved]) => {
  expect(listGrants({ namespace, final: ['drop'] })).toEqual(reserved ? ['rule drops: DropTable'] : [])
})

it('grants that different policies reserve', () => {
  expect(
    listGrants(
      { namespace: [], final: ['QueryTable'] },
      { namespace: ['prod'], final: ['DropTable', 'CreateTable'] },
    ),
  ).toEqual(['rule reads: QueryTable', 'rule drops: DropTable, CreateTable'])
})
