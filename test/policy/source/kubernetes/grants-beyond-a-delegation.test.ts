import { expect, it } from 'vitest'
import type { WrittenPolicy, WrittenRule } from '../../policy-builder.ts'
import { createDelegation, createResource, grant, review } from './reviewed-resources.ts'

const delegation = createDelegation()
const [rule] = grant.rules

function withRule(changes: object): object {
  return { ...grant, rules: [{ ...rule, ...changes }] }
}

function allow(...operations: readonly string[]): object {
  return withRule({ operations })
}

const at = (...namespace: readonly string[]): object => ({ ...grant, namespace })
const to = (subjects: object): object => withRule({ subjects })

const onlyGrants = 'delegated policies only grant; the platform restricts'

it.for<[attack: string, content: object, message: string]>([
  [
    'a namespace above the scope',
    at('prod'),
    'namespace: ["prod"] is not delegated; expected it in ["prod","sales"]',
  ],
  ['the root', at(), 'namespace: [] is not delegated'],
  ['the namespace of another team', at('prod', 'finance'), 'namespace: ["prod","finance"] is not delegated'],
  [
    'a name that begins as the scope does',
    at('prod', 'sales2'),
    'namespace: ["prod","sales2"] is not delegated',
  ],
  ['the scope in one name', at('prod.sales'), 'namespace: ["prod.sales"] is not delegated'],
  ['the scope in another case', at('prod', 'Sales'), 'namespace: ["prod","Sales"] is not delegated'],
  ['a deny', withRule({ effect: 'deny' }), `rules[0].effect: ${onlyGrants}`],
  ['inherit: false', { ...grant, inherit: false }, `inherit: false: ${onlyGrants}`],
  ['final operations', { ...grant, final: ['drop'] }, `final: ${onlyGrants}`],
  ['onDeny', { ...grant, onDeny: 404 }, `onDeny: ${onlyGrants}`],
  [
    'requirements for commits',
    { ...grant, commits: { metadata: ['ticket'] } },
    `rules[0].effect: ${onlyGrants}`,
  ],
  [
    'registering the storage of another team',
    allow('RegisterTable'),
    'rules[0].operations: not delegated: RegisterTable',
  ],
  ['storage credentials', allow('read', 'credentials'), 'not delegated: UseSecret, VendCredentials'],
  ['everything', allow('all'), 'RegisterTable'],
  ['everybody', to({ any: true }), 'rules[0].subjects.any: is not delegated; expected names'],
  ['anonymous callers', to({ anonymous: true }), 'rules[0].subjects.anonymous: is not delegated'],
  [
    'everybody beside a name of its own',
    to({ users: ['alice'], any: true }),
    'rules[0].subjects.any: is not delegated',
  ],
  [
    'a user of another issuer',
    to({ users: ['corp:bob', 'partner:bob'] }),
    'rules[0].subjects.users: "partner:bob" is not delegated',
  ],
  [
    'an issuer whose name begins alike',
    to({ users: ['corp2:bob', 'corp'] }),
    'rules[0].subjects.users: "corp2:bob" is not delegated',
  ],
  [
    'a group that is not delegated',
    to({ groups: ['sales', 'finance'] }),
    'rules[0].subjects.groups: "finance" is not delegated',
  ],
  [
    'the name of a group as user',
    to({ users: ['sales'] }),
    'rules[0].subjects.users: "sales" is not delegated',
  ],
  ['an API key of another team', to({ keys: ['k1', 'k2'] }), 'rules[0].subjects.keys: "k2" is not delegated'],
  [
    'a service account of another cluster',
    to({ serviceAccounts: ['other:etl/loader'] }),
    'rules[0].subjects.users: "other:system:serviceaccount:etl:loader" is not delegated',
  ],
])('refuses %s', async ([, content, message]) => {
  const [reviewed] = await review(delegation, createResource('p', content))
  expect(reviewed).toMatchObject({ reason: 'NotDelegated' })
  expect(reviewed?.message).toContain(message)
  expect(reviewed?.documents).toEqual([])
})

it.for<[grants: string, content: object]>([
  ['the scope itself', grant],
  ['a namespace beneath', at('prod', 'sales', 'eu')],
  ['everything of the groups that stay in a namespace', allow('browse', 'query', 'write', 'create', 'drop')],
  ['administration of a table', allow('RenameTable', 'CreateTableIndex', 'AlterTableAddColumns')],
  [
    'principals, groups and service accounts of an issuer',
    to({ users: ['corp:bob'], groups: ['corp:dev'], serviceAccounts: ['corp:etl/loader'] }),
  ],
  ['named subjects', to({ users: ['alice'], groups: ['sales'], keys: ['k1'] })],
  ['names of others as exceptions', to({ groups: ['sales'], except: { users: ['partner:bob'] } })],
  ['a shadow policy', { ...grant, mode: 'shadow' }],
])('accepts a grant of %s', async ([, content]) => {
  expect(await review(delegation, createResource('p', content))).toMatchObject([
    { reason: 'Accepted', documents: [{ name: 'team-a/p', file: 'accesspolicies/team-a/p' }] },
  ])
})

it('a scope claimed by labels, annotations or a status counts for nothing', async () => {
  const claims = { 'catalog-gateway.dev/namespaces': 'prod.finance', scope: 'prod/finance' }
  const resource = createResource(
    'p',
    {
      ...grant,
      namespace: ['prod', 'finance'],
      status: { conditions: [{ type: 'Accepted', status: 'True', reason: 'Accepted' }] },
    },
    { labels: claims, annotations: claims },
  )
  expect(await review(delegation, resource)).toMatchObject([{ reason: 'NotDelegated' }])
})

it('additional permissions are delegated by name', async () => {
  const generous = createDelegation({ additionalPermissions: ['RegisterTable', 'ChooseLocation'] })
  const content = allow('RegisterTable', 'ChooseLocation')
  expect(await review(generous, createResource('p', content))).toMatchObject([{ reason: 'Accepted' }])
  expect(
    await review(generous, createResource('p', allow('RegisterTable', 'VendCredentials'))),
  ).toMatchObject([
    { reason: 'NotDelegated', message: 'rules[0].operations: not delegated: VendCredentials' },
  ])
})

it('everybody and anonymous callers are delegated by name', async () => {
  const subjects = { ...delegation.subjects, any: true, anonymous: true }
  const content = withRule({ subjects: { any: true, anonymous: true } } satisfies Partial<WrittenRule>)
  expect(await review(createDelegation({ subjects }), createResource('p', content))).toMatchObject([
    { reason: 'Accepted' },
  ])
})

it('reports everything that is not delegated, and refuses the policy as a whole', async () => {
  const content = {
    namespace: ['prod', 'sales'],
    rules: [
      ...grant.rules,
      { id: 'more', effect: 'allow', subjects: { any: true }, operations: ['RegisterTable'] },
    ],
  } satisfies Omit<WrittenPolicy, 'name'>
  const [reviewed] = await review(delegation, createResource('p', content))
  expect(reviewed?.documents).toEqual([])
  expect(reviewed?.message.split('\n')).toEqual([
    expect.stringContaining('rules[1].subjects.any'),
    expect.stringContaining('rules[1].operations: not delegated: RegisterTable'),
  ])
})

it('a policy with thousands of violations has a short message', async () => {
  const users = Array.from({ length: 1000 }, (_, index) => `${index}-${'x'.repeat(50)}`)
  const [reviewed] = await review(delegation, createResource('p', withRule({ subjects: { users } })))
  expect(reviewed?.message).toMatch(/^[^]{3999}…$/)
})
