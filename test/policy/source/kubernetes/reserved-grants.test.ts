import { expect, it } from 'vitest'
import { describeReservedGrants } from '../../../../src/policy/source/kubernetes/find-reserved-grants.ts'
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

function describe(...reserving: readonly Pick<WrittenPolicy, 'namespace' | 'final'>[]): string | undefined {
  const [document, ...others] = parseDocuments([
    { ...grant, name: 'p' },
    ...reserving.map((each, index) => ({ name: `f${index}`, rules: [], ...each })),
  ])
  return document && describeReservedGrants(document, others)
}

it.for<[where: string, namespace: readonly string[], reserved: boolean]>([
  ['the root', [], true],
  ['a namespace above', ['prod'], true],
  ['the namespace itself', ['prod', 'sales'], false],
  ['a namespace beneath', ['prod', 'sales', 'eu'], false],
  ['another namespace', ['dev'], false],
])('operations reserved in %s', ([, namespace, reserved]) => {
  expect(describe({ namespace, final: ['drop'] })).toBe(
    reserved
      ? 'the platform reserves operations (final), so these grants have no effect: rule drops: DropTable'
      : undefined,
  )
})

it('several reserving policies are one conflict', () => {
  expect(
    describe(
      { namespace: [], final: ['QueryTable'] },
      { namespace: ['prod'], final: ['DropTable', 'CreateTable'] },
    ),
  ).toMatch(/: rule reads: QueryTable; rule drops: DropTable, CreateTable$/)
})
