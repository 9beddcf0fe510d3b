import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { serveListings } from '../support/listing-upstream.ts'
import { readPage } from '../support/read-pages.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const ann = { users: ['ann'] }

/** `ann` may see one deeply nested table, and may not list its siblings; `bob` may list, and see nothing. */
const shared = useSharedGateway({
  users: ['ann', 'bob', 'eve'],
  policies: [
    {
      name: 'deep',
      namespace: ['a', 'b'],
      rules: [{ id: 'sees', effect: 'allow', subjects: ann, operations: ['read'], tables: ['t'] }],
    },
    {
      name: 'closed',
      namespace: ['closed'],
      rules: [
        { id: 'sees', effect: 'allow', subjects: ann, operations: ['DescribeTable'] },
        { id: 'lists-not', effect: 'deny', subjects: { any: true }, operations: ['ListTables'] },
      ],
    },
    {
      name: 'lister',
      namespace: ['a'],
      rules: [{ id: 'lists', effect: 'allow', subjects: { users: ['bob'] }, operations: ['ListTables'] }],
    },
  ],
})
const tree = {
  namespaces: { '': ['a', 'closed', 'z'], a: ['b', 'c'], a$b: ['x'] },
  tables: { '': ['t'], a: ['t'], a$b: ['s', 't'], closed: ['t'] },
  allTables: ['a$b$s', 'a$b$t', 'closed$t', 't'],
}

it.each([
  ['/v1/namespace/$/list', ['a', 'closed']],
  ['/v1/namespace/a/list', ['b']],
  ['/v1/namespace/a$b/list', []],
  ['/v1/namespace/$/table/list', []],
  ['/v1/namespace/a/table/list', []],
  ['/v1/namespace/a$b/table/list', ['t']],
  ['/v1/table', ['a$b$t', 'closed$t']],
])('a caller that sees an object below finds the path to it by %s', async (target, expected) => {
  shared.upstream.handler = serveListings(tree)
  expect((await readPage(shared.gateway, target, 'ann')).names).toEqual(expected)
})

it('denies a listing by rule, and one without visible objects below', async () => {
  const denied = '/v1/namespace/closed/table/list'
  expectError(await shared.gateway.get(denied, { as: 'ann' }), {
    kind: 'PermissionDenied',
    says: 'ListTables',
  })
  for (const target of ['/v1/namespace/$/list', '/v1/table']) {
    expectError(await shared.gateway.get(target, { as: 'eve' }), {
      kind: 'PermissionDenied',
      says: 'the root',
    })
  }
  const missing = { kind: 'NamespaceNotFound', says: 'there is no namespace "a"' } as const
  expectError(await shared.gateway.get('/v1/namespace/a/list', { as: 'eve' }), missing)
  expect(shared.upstream.requests).toEqual([])
})

it('does not report a listed namespace as missing', async () => {
  const response = await shared.gateway.post('/v1/namespace/a/describe', { as: 'ann', body: {} })
  expectError(response, { kind: 'PermissionDenied', says: 'DescribeNamespace' })
})

it('a caller that may list but not describe sees nothing', async () => {
  shared.upstream.handler = serveListings(tree)
  expect((await readPage(shared.gateway, '/v1/namespace/a/table/list', 'bob')).names).toEqual([])
})
