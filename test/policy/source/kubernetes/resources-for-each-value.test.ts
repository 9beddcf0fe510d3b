import { expect, it } from 'vitest'
import { createDelegation, createResource, grant, review, platform } from './reviewed-resources.ts'

const system = { namespace: 'catalog-system' }
const teams = { ...grant, forEach: { team: ['eu', 'us'] }, namespace: ['prod', 'sales', '{team}'] }
const deny = { id: 'deny', effect: 'deny', subjects: { users: ['{team}-mallory'] }, operations: ['write'] }
const typo = { id: 'typo', effect: 'allow', subjects: { any: true }, operations: ['raed'] }

it('each value is a document, named after the resource and the value', async () => {
  const [reviewed] = await review(createDelegation(), createResource('p', teams))
  expect(reviewed).toMatchObject({
    reason: 'Accepted',
    documents: [
      { name: 'team-a/p[eu]', namespace: ['prod', 'sales', 'eu'], file: 'accesspolicies/team-a/p' },
      { name: 'team-a/p[us]', namespace: ['prod', 'sales', 'us'], file: 'accesspolicies/team-a/p' },
    ],
  })
})

it.for<[attack: string, content: object, message: string]>([
  [
    'the namespace of another team',
    { ...grant, forEach: { team: ['sales', 'finance'] }, namespace: ['prod', '{team}'] },
    'namespace: ["prod","finance"] is not delegated; expected it in ["prod","sales"] (team: finance)',
  ],
  [
    'the group of another team',
    { ...teams, rules: [{ ...grant.rules[0], subjects: { groups: ['{team}', 'sales'] } }] },
    'rules[0].subjects.groups: "{team}" is not delegated',
  ],
])('one value beyond a delegation refuses the whole resource: %s', async ([, content, message]) => {
  const [reviewed] = await review(createDelegation(), createResource('p', content))
  expect(reviewed).toMatchObject({ reason: 'NotDelegated', message })
  expect(reviewed?.documents).toEqual([])
})

it('of an invalid resource of the platform, the denies of each value stay', async () => {
  const [reviewed] = await review(platform, createResource('p', { ...teams, rules: [deny, typo] }, system))
  expect(reviewed).toMatchObject({
    reason: 'Invalid',
    documents: [
      { name: 'catalog-system/p[eu]', rules: [{ id: 'deny', subjects: { users: ['eu-mallory'] } }] },
      { name: 'catalog-system/p[us]', rules: [{ id: 'deny', subjects: { users: ['us-mallory'] } }] },
    ],
  })
  expect(reviewed?.message.split('\n')).toHaveLength(1)
})

it('denies of an invalid namespace apply nowhere', async () => {
  const content = { ...teams, namespace: ['{team}', '{taem}'], rules: [deny] }
  expect(await review(platform, createResource('p', content, system))).toMatchObject([
    { reason: 'Invalid', documents: [] },
  ])
})

it('each value counts among the policies', async () => {
  const forEach = { team: Array.from({ length: 100 }, (_, index) => `t${index}`) }
  const reviews = await review(
    createDelegation(),
    createResource('a', grant),
    createResource('b', { ...teams, forEach }),
  )
  const message = 'older policies are 1, and this one counts as 100; expected at most 100 together'
  expect(reviews).toMatchObject([{ reason: 'Accepted' }, { reason: 'QuotaExceeded', message }])
})

it('each value counts among the conditions', async () => {
  const rules = Array.from({ length: 51 }, (_, index) => ({
    ...grant.rules[0],
    id: `r${index}`,
    when: 'branch == "{team}"',
  }))
  const message = 'older policies have 0 conditions and this one 102; expected at most 100 together'
  expect(await review(createDelegation(), createResource('b', { ...teams, rules }))).toMatchObject([
    { reason: 'QuotaExceeded', message },
  ])
})

it('values that are no texts are an error like any other', async () => {
  const content = { ...teams, forEach: { team: [{ toString: 'x' }, null] } }
  expect(await review(createDelegation(), createResource('p', content))).toMatchObject([
    { reason: 'Invalid' },
  ])
})

it('the bytes are those with the longest value in place of a variable', async () => {
  const forEach = { t: ['x'.repeat(100)] }
  const rules = [{ ...grant.rules[0], subjects: { users: Array.from({ length: 600 }, () => 'corp:{t}') } }]
  const content = { ...teams, forEach, namespace: ['prod', 'sales', '{t}'], rules }
  const [reviewed] = await review(createDelegation(), createResource('p', content))
  expect(reviewed).toMatchObject({ reason: 'QuotaExceeded' })
  expect(Number(/has (\d+) bytes/.exec(reviewed?.message ?? '')?.[1])).toBeGreaterThan(65_536)
})
