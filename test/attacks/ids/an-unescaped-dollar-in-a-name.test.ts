import { describe, expect, it } from 'vitest'
import { upstreamsSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { serveListings } from '../../gateway/support/listing-upstream.ts'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { listNames, readPages } from '../../gateway/support/read-pages.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'

// The directory catalog of the Lance project stores ids joined with `$`, unescaped, with any delimiter of the
// request: `ns1$s2` at the root is its s2 in ns1. Here its delimiter is `.`.
const shared = useSharedGateway(withUpstream(() => ({ delimiter: '.' })))
const entry = { id: ['ns1$s2'], version: 2, manifest_path: 'ns1$s2/_versions/staged' }

describe('rejects a part of an id with a dollar', () => {
  it.each<[label: string, target: string, body?: object]>([
    ['of a table to drop', '/v1/table/ns1%24s2/drop?delimiter=.'],
    ['of a table to declare', '/v1/table/ns1%24s2/declare?delimiter=.', {}],
    ['of a table to create', '/v1/table/ns1%24s2/create?delimiter=.'],
    ['of a namespace to drop', '/v1/namespace/ns1%24s2/drop?delimiter=.', {}],
    ['below the root', '/v1/table/a.b%24c/describe?delimiter=.', {}],
    ['of a transaction', '/v1/transaction/ns1%24s2/describe?delimiter=.', {}],
    ['of a view', '/v1/materialized_view/ns1%24s2/refresh?delimiter=.', {}],
    ['beside an equal id in the body', '/v1/table/ns1%24s2/describe?delimiter=.', { id: ['ns1$s2'] }],
    ['of a new name', '/v1/table/t/rename', { new_table_name: 'ns1$s2' }],
    ['of a new namespace', '/v1/table/t/rename', { new_table_name: 't', new_namespace_id: ['a$b'] }],
    ['of a new namespace of old', '/v1/table/t/rename', { new_table_name: 't', new_namespace: ['a$b'] }],
    ['of a new version', '/v1/table/version/batch-create', { entries: [entry] }],
    [
      'of a later entry of a batch',
      '/v1/table/batch-commit',
      { operations: [{ declare_table: { id: ['t'] } }, { deregister_table: { id: ['ns1$s2'] } }] },
    ],
  ])('in the id %s', async (_label, target, body) => {
    expectError(await shared.gateway.post(target, body && { body }), { kind: 'InvalidInput', says: '$' })
    expect(shared.upstream.requests).toEqual([])
  })
})

it('does not list names with a dollar', async () => {
  shared.upstream.handler = serveListings({
    tables: { '': ['ns1$s2', 'plain'] },
    allTables: ['ns1$s2', 'a.b'],
  })
  expect(
    listNames(await readPages(shared.gateway, '/v1/namespace/$/table/list', { as: 'dev', limit: 10 })),
  ).toEqual(['plain'])
  const all = await shared.gateway.get('/v1/table?delimiter=:')
  expect(all.json).toMatchObject({ tables: ['a:b'] })
})

it.each<[label: string, upstream: object, part: string]>([
  ['its delimiter', { delimiter: '.' }, 'b.c'],
  ['what is reserved there', { delimiter: '.' }, 'b$c'],
])('rejects a namespace of an upstream whose name contains %s', (_label, upstream, part) => {
  const settings = [
    { name: 'root', url: 'http://root.example' },
    { name: 'other', url: 'http://other.example', namespaces: [['a', part]], ...upstream },
  ]
  const errors = upstreamsSchema.safeParse(settings).error?.issues ?? []
  expect(errors).toMatchObject([{ path: [1, 'namespaces', 0], message: expect.stringContaining(part) }])
})
