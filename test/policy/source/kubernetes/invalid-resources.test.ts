import { expect, it } from 'vitest'
import type { KubernetesObject } from '../../../../src/kubernetes/kubernetes-client.ts'
import { compilePolicies } from '../../../../src/policy/policy-set.ts'
import { createAuthorizationRequest, createCaller } from '../../policy-builder.ts'
import { createDelegation, createResource, grant, review, platform } from './reviewed-resources.ts'

const system = { namespace: 'catalog-system' }
const allow = { id: 'allow', effect: 'allow', subjects: { any: true }, operations: ['read', 'write'] }
const deny = { id: 'deny', effect: 'deny', subjects: { users: ['mallory'] }, operations: ['write'] }
const typo = { id: 'typo', effect: 'allow', subjects: { any: true }, operations: ['raed'] }

function requestOf(user: string, permission: 'UpdateTable' | 'QueryTable') {
  return createAuthorizationRequest(createCaller(user), permission, 'table', ['prod', 't'])
}

/** Reviews a resource of the platform with this content, and compiles its valid documents beside a good one. */
async function reviewBad(content: object, ...others: readonly KubernetesObject[]) {
  const good = createResource('good', { namespace: [], rules: [allow] }, system)
  const bad = createResource('bad', { namespace: ['prod'], ...content }, system)
  const [first, ...reviews] = await review(platform, bad, good, ...others)
  const set = compilePolicies([first, ...reviews].flatMap((reviewed) => reviewed?.documents ?? []))
  return { reviewed: first, set }
}

it('errors have the path of the field', async () => {
  const resource = createResource(
    'p',
    {
      namespace: ['prod'],
      rules: [{ ...allow, when: 'brunch == "main"' }, typo],
      status: { conditions: [] },
    },
    { ...system, managedFields: [{ manager: 'kubectl', operation: 'Update' }] },
  )
  expect(await review(platform, resource)).toMatchObject([
    {
      reason: 'Invalid',
      message: [
        'rules[0].when: unknown variable: brunch; did you mean "branch"? (character 1)',
        'rules[1].operations[0]: unknown operation or group "raed"; did you mean "read"?',
      ].join('\n'),
    },
  ])
})

it('an invalid policy of the platform grants nothing, and its denies stay', async () => {
  const { set } = await reviewBad({ rules: [allow, deny, typo] })
  expect(set.decide(requestOf('mallory', 'UpdateTable'))).toMatchObject({
    reason: 'denied',
    rule: { policy: 'catalog-system/bad' },
  })
  expect(set.decide(requestOf('mallory', 'QueryTable'))).toMatchObject({
    allowed: true,
    rule: { policy: 'catalog-system/good' },
  })
  expect(set.decide(requestOf('alice', 'UpdateTable')).allowed).toBe(true)
})

it.for<[what: string, content: object, left: object]>([
  [
    'a deny whose condition cannot be read applies without it',
    { rules: [{ ...deny, when: 'branch = "main"' }] },
    { rules: [{ id: 'deny', condition: undefined }] },
  ],
  [
    'a deny for tables by a text covers all tables',
    { rules: [{ ...deny, tables: 'orders' }] },
    { rules: [{ id: 'deny', tables: ['*'] }] },
  ],
  [
    'a deny for tables with an invalid name covers all tables',
    { rules: [{ ...deny, tables: ['people', 'or/ders'] }] },
    { rules: [{ id: 'deny', tables: ['*'] }] },
  ],
  [
    'inherit: false, final and onDeny stay',
    { inherit: false, final: ['DropTable'], onDeny: 404, rules: [typo] },
    {
      inherit: false,
      onDeny: 404,
      rules: [],
      final: expect.toSatisfy((final: ReadonlySet<string>) => final.has('DropTable')) as unknown,
    },
  ],
  ...[
    { folders: [7] },
    { metadata: 'ticket' },
    { except: { users: ['al'] } },
    { foldres: ['s3://b/team'] },
    'folders',
  ].map((commits): [string, object, object] => [
    `no commit fulfils ${JSON.stringify(commits)}`,
    { commits },
    { rules: [{ id: 'commits', condition: undefined }] },
  ]),
])('of an invalid policy of the platform: %s', async ([, content, left]) => {
  const { reviewed } = await reviewBad(content)
  expect(reviewed).toMatchObject({ reason: 'Invalid', documents: [left] })
})

const restriction = { id: 'part', subjects: { users: ['ann'] }, tables: ['t'], columns: { id: 'number' } }
const unnamed = expect.stringMatching(/^unnamed-\d+-\d+$/) as unknown
const columns = {
  id: 'number',
  ssn: { type: 'text', tags: ['pii'] },
  salary: { type: 'text', tags: ['secret'] },
}

it.for<[string, object, object]>([
  [
    'condition on rows leaves no rows',
    { rows: 'region == EU' },
    { columns: new Map([['id', 'number']]), rows: 'false' },
  ],
  ['tag leaves no column', { columns: { without: ['pii', 7] } }, { columns: new Map(), rows: 'false' }],
  ['list of tags leaves no column', { columns: { without: [] } }, { columns: new Map(), rows: 'false' }],
])('in a restriction, an invalid %s', async ([, changes, left]) => {
  const tags = { tables: { t: { columns } } }
  const tagged = createResource('tags', { namespace: ['prod'], tags, rules: [] }, system)
  const { set } = await reviewBad({ restrict: [{ ...restriction, ...changes }] }, tagged)
  expect(set.findRestriction(requestOf('ann', 'QueryTable'))).toMatchObject(left)
})

it.for<[what: string, content: object, rule: unknown]>([
  ['a deny without an id', { rules: [{ ...deny, id: undefined }] }, unnamed],
  ['a deny with an invalid id', { rules: [{ ...deny, id: 'no writes' }] }, unnamed],
  [
    'a restriction without an id',
    { restrict: [{ ...restriction, id: undefined, subjects: { any: true } }] },
    unnamed,
  ],
  ['a deny with an unreadable operation', { rules: [{ ...deny, operations: ['wirte'] }] }, 'deny'],
  ['a deny with a text for operations', { rules: [{ ...deny, operations: 'write' }] }, 'deny'],
  ['a deny with an unreadable subject', { rules: [{ ...deny, subjects: { grups: ['hr'] } }] }, 'deny'],
])('%s stays, and covers all that it may mean', async ([, content, rule]) => {
  const { set } = await reviewBad(content)
  expect(set.decide(requestOf('mallory', 'UpdateTable'))).toMatchObject({
    allowed: false,
    rule: { policy: 'catalog-system/bad', rule },
  })
})

it.for<[string, unknown]>([
  ['no namespace', undefined],
  ['a namespace that is text', 'prod'],
  ['a name that is no text', ['prod', 5]],
])('denies of a policy with %s apply nowhere, because their place is unknown', async ([, namespace]) => {
  const { reviewed } = await reviewBad({ namespace, rules: [deny] })
  expect(reviewed).toMatchObject({ reason: 'Invalid', documents: [] })
})

it('an invalid delegated policy affects itself alone: nothing of it stays', async () => {
  const reviews = await review(
    createDelegation(),
    createResource('bad', { ...grant, rules: [...grant.rules, typo, deny] }),
    createResource('good', grant),
  )
  expect(reviews.map(({ reason, documents }) => [reason, documents?.map(({ name }) => name)])).toEqual([
    ['Invalid', []],
    ['Accepted', ['team-a/good']],
  ])
})
