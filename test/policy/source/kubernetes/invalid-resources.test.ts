import { expect, it } from 'vitest'
import { compilePolicies } from '../../../../src/policy/policy-set.ts'
import { createAuthorizationRequest, createCaller } from '../../policy-builder.ts'
import { createDelegation, createResource, grant, review, platform } from './reviewed-resources.ts'

const system = { namespace: 'catalog-system' }
const allow = { id: 'allow', effect: 'allow', subjects: { any: true }, operations: ['read', 'write'] }
const deny = { id: 'deny', effect: 'deny', subjects: { users: ['mallory'] }, operations: ['write'] }
const typo = { id: 'typo', effect: 'allow', subjects: { any: true }, operations: ['raed'] }

function decide(
  documents: Parameters<typeof compilePolicies>[0],
  user: string,
  permission: 'UpdateTable' | 'QueryTable',
) {
  const request = createAuthorizationRequest(createCaller(user), permission, 'table', ['prod', 't'])
  return compilePolicies(documents).decide(request)
}

function documentsOf(reviews: Awaited<ReturnType<typeof review>>) {
  return reviews.flatMap(({ documents }) => documents ?? [])
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
        'rules[0].when: unknown variable: brunch; did you mean "branch"?',
        'rules[1].operations[0]: unknown operation or group "raed"; did you mean "read"?',
      ].join('\n'),
    },
  ])
})

it('an invalid policy of the platform grants nothing, and its denies stay', async () => {
  const documents = documentsOf(
    await review(
      platform,
      createResource('good', { namespace: [], rules: [allow] }, system),
      createResource('bad', { namespace: ['prod'], rules: [allow, deny, typo] }, system),
    ),
  )
  expect(documents.map(({ name }) => name)).toEqual(['catalog-system/bad', 'catalog-system/good'])
  expect(decide(documents, 'mallory', 'UpdateTable')).toMatchObject({
    allowed: false,
    reason: 'denied',
    rule: { policy: 'catalog-system/bad' },
  })
  expect(decide(documents, 'mallory', 'QueryTable')).toMatchObject({
    allowed: true,
    rule: { policy: 'catalog-system/good' },
  })
  expect(decide(documents, 'alice', 'UpdateTable').allowed).toBe(true)
})

it('a deny whose condition cannot be read applies without it', async () => {
  const broken = { ...deny, when: 'branch = "main"' }
  const [reviewed] = await review(
    platform,
    createResource('p', { namespace: ['prod'], rules: [broken] }, system),
  )
  expect(reviewed).toMatchObject({
    reason: 'Invalid',
    documents: [{ rules: [{ id: 'deny', condition: undefined }] }],
  })
})

it.for<[string, object]>([
  ['text', { tables: 'orders' }],
  ['list with an invalid name', { tables: ['people', 'or/ders'] }],
])('a deny for tables by a %s covers all tables', async ([, tables]) => {
  const broken = { ...deny, ...tables }
  const [reviewed] = await review(
    platform,
    createResource('p', { namespace: ['prod'], rules: [broken] }, system),
  )
  expect(reviewed).toMatchObject({
    reason: 'Invalid',
    documents: [{ rules: [{ id: 'deny', tables: ['*'] }] }],
  })
})

const restriction = { id: 'part', subjects: { users: ['ann'] }, tables: ['t'], columns: { id: 'number' } }
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
  const documents = documentsOf(
    await review(
      platform,
      createResource(
        'tags',
        { namespace: ['prod'], tags: { tables: { t: { columns } } }, rules: [allow] },
        system,
      ),
      createResource('bad', { namespace: ['prod'], restrict: [{ ...restriction, ...changes }] }, system),
    ),
  )
  const request = createAuthorizationRequest(createCaller('ann'), 'QueryTable', 'table', ['prod', 't'])
  expect(compilePolicies(documents).findRestriction(request)).toMatchObject(left)
})

it.for<[string, object]>([
  [
    'deny',
    {
      rules: [
        { ...deny, id: undefined },
        { ...deny, id: 'no writes' },
      ],
    },
  ],
  ['restriction', { restrict: [{ ...restriction, id: undefined, subjects: { any: true } }] }],
])('a %s without a valid id stays', async ([, content]) => {
  const documents = documentsOf(
    await review(
      platform,
      createResource('good', { namespace: [], rules: [allow] }, system),
      createResource('bad', { namespace: ['prod'], ...content }, system),
    ),
  )
  expect(decide(documents, 'mallory', 'UpdateTable')).toMatchObject({
    allowed: false,
    rule: { policy: 'catalog-system/bad', rule: expect.stringMatching(/^unnamed-\d+-\d+$/) },
  })
})

it.for<[string, object]>([
  ['operation', { operations: ['wirte'] }],
  ['list of operations', { operations: 'write' }],
  ['subject', { subjects: { grups: ['hr'] } }],
])('a deny with an unreadable %s covers all', async ([, changes]) => {
  const documents = documentsOf(
    await review(
      platform,
      createResource('good', { namespace: [], rules: [allow] }, system),
      createResource('bad', { namespace: ['prod'], rules: [{ ...deny, ...changes }] }, system),
    ),
  )
  expect(decide(documents, 'mallory', 'UpdateTable').allowed).toBe(false)
})

it.for<[string, unknown]>([
  ['an invalid folder', { folders: [7] }],
  ['an invalid key', { metadata: 'ticket' }],
  ['nothing', { except: { users: ['al'] } }],
  ['a misspelt requirement', { foldres: ['s3://b/team'] }],
  ['text', 'folders'],
])('commits with %s are such that no commit fulfils them', async ([, commits]) => {
  const [reviewed] = await review(platform, createResource('p', { namespace: ['prod'], commits }, system))
  expect(reviewed).toMatchObject({
    reason: 'Invalid',
    documents: [{ rules: [{ id: 'commits', condition: undefined }] }],
  })
})

it('inherit: false, final and onDeny of an invalid policy of the platform stay', async () => {
  const [reviewed] = await review(
    platform,
    createResource(
      'p',
      { namespace: ['prod'], inherit: false, final: ['drop'], onDeny: 404, rules: [typo] },
      system,
    ),
  )
  expect(reviewed).toMatchObject({
    reason: 'Invalid',
    documents: [{ inherit: false, onDeny: 404, rules: [] }],
  })
  expect(reviewed?.documents?.[0]?.final.has('DropTable')).toBe(true)
})

it.for<[string, unknown]>([
  ['no namespace', undefined],
  ['a namespace that is text', 'prod'],
  ['a name that is no text', ['prod', 5]],
])('denies of a policy with %s apply nowhere, because their place is unknown', async ([, namespace]) => {
  const [reviewed] = await review(platform, createResource('p', { namespace, rules: [deny] }, system))
  expect(reviewed).toMatchObject({ reason: 'Invalid' })
  expect(reviewed?.documents).toEqual([])
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

it('the message shows nothing of other Kubernetes namespaces', async () => {
  const [reviewed] = await review(
    createDelegation(),
    createResource('p', { ...grant, namespace: ['prod', 'finance'] }),
  )
  expect(reviewed?.message).not.toMatch(/catalog-system|uid/)
})
