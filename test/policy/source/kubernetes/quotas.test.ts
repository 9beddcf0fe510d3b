import { expect, it } from 'vitest'
import { createDelegation, createResource, grant, judge, platform } from './judged-resources.ts'

const conditional = { ...grant, rules: grant.rules.map((rule) => ({ ...rule, when: 'branch == "main"' })) }

function reasons(...verdicts: readonly { readonly reason: string }[]): readonly string[] {
  return verdicts.map(({ reason }) => reason)
}

const at = (second: number) => ({ creationTimestamp: `2026-01-01T00:00:0${second}Z` })

it('too many policies: the newest are refused, whatever their order and names', () => {
  const resources = [
    createResource('a', grant, at(3)),
    createResource('c', grant, at(1)),
    createResource('b', grant, at(1)),
  ]
  const verdicts = judge(createDelegation({ maxPolicies: 2 }), ...resources)
  expect(verdicts.map(({ resource, reason }) => [resource.metadata.name, reason])).toEqual([
    ['b', 'Accepted'],
    ['c', 'Accepted'],
    ['a', 'QuotaExceeded'],
  ])
  expect(verdicts[2]?.message).toBe('2 older policies are in this Kubernetes namespace, and no more may be')
  expect(judge(createDelegation({ maxPolicies: 2 }), ...resources.toReversed())).toEqual(verdicts)
})

it('invalid policies count, because they are parsed too', () => {
  const verdicts = judge(
    createDelegation({ maxPolicies: 1 }),
    createResource('a', {}, at(1)),
    createResource('b', grant, at(2)),
  )
  expect(reasons(...verdicts)).toEqual(['Invalid', 'QuotaExceeded'])
})

it('a policy that is too large is refused before it is parsed; its status does not count', () => {
  const annotations = { padding: 'x'.repeat(500) }
  const status = { padding: 'x'.repeat(5000) }
  const delegation = createDelegation({ maxPolicyBytes: 1000 })
  const verdicts = judge(
    delegation,
    createResource('a', { ...grant, status }),
    createResource('b', { rules: 'x'.repeat(2000) }),
    createResource('c', grant, { annotations }),
  )
  expect(reasons(...verdicts)).toEqual(['Accepted', 'QuotaExceeded', 'Accepted'])
  expect(verdicts[1]?.message).toMatch(/^the policy has \d+ bytes as JSON; expected at most 1000$/)
})

it('conditions are counted in all policies, those of refused ones not', () => {
  const delegation = createDelegation({ maxConditions: 2 })
  const outside = { ...conditional, namespace: ['prod'] }
  const verdicts = judge(
    delegation,
    createResource('a', conditional, at(1)),
    createResource('b', outside, at(2)),
    createResource(
      'c',
      { ...conditional, rules: ['x', 'y'].map((id) => ({ ...conditional.rules[0], id })) },
      at(3),
    ),
    createResource('d', conditional, at(4)),
    createResource('e', grant, at(5)),
  )
  expect(reasons(...verdicts)).toEqual(['Accepted', 'NotDelegated', 'QuotaExceeded', 'Accepted', 'Accepted'])
  expect(verdicts[2]?.message).toBe(
    'older policies have 1 conditions and this one 2; expected at most 2 together',
  )
})

it.for([createDelegation(), platform])('deep nesting is refused before it is formatted (%s)', (namespace) => {
  let deep: unknown = 'x'
  for (let depth = 0; depth < 5000; depth++) deep = [deep]
  expect(judge(namespace, createResource('a', { ...grant, tests: deep }))).toMatchObject([
    { reason: 'Invalid', message: 'nested deeper than 50 levels' },
  ])
})

it('the platform has no quota', () => {
  const resources = Array.from({ length: 150 }, (_, index) => createResource(`p${index}`, conditional))
  expect(new Set(reasons(...judge(platform, ...resources)))).toEqual(new Set(['Accepted']))
})
