import { expect, it } from 'vitest'
import { createDelegation, createResource, grant, platform, review } from './reviewed-resources.ts'

const delegation = createDelegation()
const [rule] = grant.rules

function reasons(...reviews: readonly { readonly reason: string }[]): readonly string[] {
  return reviews.map(({ reason }) => reason)
}

const at = (second: number) => ({ creationTimestamp: `2026-01-01T00:00:0${second}Z` })

function createMany(count: number, content: object = grant) {
  return Array.from({ length: count }, (_, index) =>
    createResource(`many-${1000 + index}`, content, { creationTimestamp: '2025-01-01T00:00:00Z' }),
  )
}

function withConditions(count: number): object {
  const rules = Array.from({ length: count }, (_, index) => ({
    ...rule,
    id: `r${index}`,
    when: 'branch == "main"',
  }))
  return { ...grant, rules }
}

it('too many policies: the newest are refused, whatever their order and names', async () => {
  const resources = [
    ...createMany(98),
    createResource('a', grant, at(3)),
    createResource('c', grant, at(1)),
    createResource('b', grant, at(1)),
  ]
  const reviews = await review(delegation, ...resources)
  expect(
    reviews.slice(98).map(({ resource, reason, message }) => [resource.metadata.name, reason, message]),
  ).toEqual([
    ['b', 'Accepted', 'the policy is in force'],
    ['c', 'Accepted', 'the policy is in force'],
    ['a', 'QuotaExceeded', 'older policies are 100, and this one counts as 1; expected at most 100 together'],
  ])
  expect(reasons(...(await review(delegation, ...resources.toReversed())))).toEqual(reasons(...reviews))
})

it('invalid policies count, because they are parsed too', async () => {
  const reviews = await review(delegation, ...createMany(100, {}), createResource('b', grant, at(2)))
  expect(new Set(reasons(...reviews.slice(0, 100)))).toEqual(new Set(['Invalid']))
  expect(reasons(...reviews.slice(100))).toEqual(['QuotaExceeded'])
})

it('a policy that is too large is refused before it is parsed; its status does not count', async () => {
  const padding = 'x'.repeat(70_000)
  const reviews = await review(
    delegation,
    createResource('a', { ...grant, status: { padding } }),
    createResource('b', { rules: padding }),
    createResource('c', grant, { annotations: { padding: 'x'.repeat(60_000) } }),
  )
  expect(reasons(...reviews)).toEqual(['Accepted', 'QuotaExceeded', 'Accepted'])
  expect(reviews[1]?.message).toMatch(/^the policy has 70\d+ bytes as JSON; expected at most 65536$/)
})

it('conditions are counted in all policies, those of refused ones not', async () => {
  const reviews = await review(
    delegation,
    createResource('a', withConditions(99), at(1)),
    createResource('b', { ...withConditions(1), namespace: ['prod'] }, at(2)),
    createResource('c', withConditions(2), at(3)),
    createResource('d', withConditions(1), at(4)),
    createResource('e', grant, at(5)),
  )
  expect(reasons(...reviews)).toEqual(['Accepted', 'NotDelegated', 'QuotaExceeded', 'Accepted', 'Accepted'])
  expect(reviews[2]?.message).toBe(
    'older policies have 99 conditions and this one 2; expected at most 100 together',
  )
})

it.for([delegation, platform])('deep nesting is refused before it is formatted (%s)', async (namespace) => {
  let deep: unknown = 'x'
  for (let depth = 0; depth < 5000; depth++) deep = [deep]
  expect(await review(namespace, createResource('a', { ...grant, tests: deep }))).toMatchObject([
    { reason: 'Invalid', message: 'nested deeper than 50 levels' },
  ])
})

it('the platform has no quota', async () => {
  const reviews = await review(platform, ...createMany(150, withConditions(1)))
  expect(new Set(reasons(...reviews))).toEqual(new Set(['Accepted']))
})
