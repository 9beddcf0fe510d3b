import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// The route of a batch names no object: only the body states its effects.
const attacked = attackedGateway()
const mine = { id: ['sandbox', 'orders'], version: 2, manifest_path: 'orders/_versions/staging' }
const theirs = { ...mine, id: ['production', 'orders'] }
const batchCreate = '/v1/table/version/batch-create'
const batchCommit = '/v1/table/batch-commit'

it.each([
  ['first', [theirs, mine, mine]],
  ['last', [mine, mine, theirs]],
])('one forbidden table, %s, denies the whole batch', async (_where, tables) => {
  const expected = {
    kind: 'PermissionDenied',
    says: /CreateTableVersion \(.*\[\d\].*"production\$orders"/,
  } as const
  await attacked.expectRefused({ target: batchCreate, body: { entries: tables } }, expected)
  const operations = tables.map((table) => ({ create_table_version: table }))
  await attacked.expectRefused({ target: batchCommit, body: { operations } }, expected)
  expect(await attacked.gateway.recorded('intent')).toEqual([])
})

it('the batch itself has no object, like its route', async () => {
  for (const body of [
    { id: ['production', 'orders'], entries: [mine] },
    { entries: [mine], id: ['sandbox', 'orders'] },
  ]) {
    await attacked.expectInvalid(
      { target: batchCreate, body },
      /"id" is .* in the body and \[\] in the route; they must not differ/,
    )
  }
  await attacked.expectForwarded({ target: batchCreate, body: { id: [], entries: [mine] } })
})

it.each([
  ['deregister_table', { id: ['sandbox', 'orders'] }, 'DeregisterTable'],
  ['delete_table_versions', { id: ['sandbox', 'orders'], ranges: [] }, 'BatchDeleteTableVersions'],
  ['declare_table', { id: ['production', 'new'] }, 'DeclareTable'],
])('%s in a batch requires the same permissions as alone', async (name, request, permission) => {
  await attacked.expectDenied(
    { target: batchCommit, body: { operations: [{ create_table_version: mine }, { [name]: request }] } },
    `you are not allowed ${permission} (operations[1].${name})`.replaceAll(/[()[\].]/g, '\\$&'),
  )
})

it.each<[label: string, operations: unknown, says: RegExp]>([
  [
    'two in one',
    [{ create_table_version: mine, deregister_table: { id: theirs.id } }],
    /expected exactly one of/,
  ],
  ['none in one', [{}], /holds nothing; expected exactly one of/],
  ['no table', [{ deregister_table: {} }], /names no table; expected "id"/],
  ['the root', [{ deregister_table: { id: [] } }], /names no table/],
  ['nothing to do', [], /expected a list of at least one object/],
  ['a name that holds the delimiter', [{ deregister_table: { id: ['sandbox', 'a$b'] } }], /"a\$b"/],
  [
    'a name that is a path',
    [{ deregister_table: { id: ['sandbox', '../production'] } }],
    /not allowed in a name|segment/,
  ],
  ['half a character', [{ deregister_table: { id: ['sandbox', 'a\uD800'] } }], /name/],
  [
    'a location',
    [{ declare_table: { id: ['sandbox', 'n'], location: 's3://b/p' } }],
    /sets a location or requests credentials/,
  ],
  [
    'credentials',
    [{ declare_table: { id: ['sandbox', 'n'], vend_credentials: true } }],
    /sets a location or requests credentials/,
  ],
  [
    'a foreign manifest',
    [{ create_table_version: { ...mine, manifest_path: '../p/_versions/s' } }],
    /manifest_path/,
  ],
])('%s in a batch is rejected', async (_label, operations, says) => {
  await attacked.expectInvalid({ as: 'owner', target: batchCommit, body: { operations } }, says)
})

it('a batch without a body is rejected', async () => {
  await attacked.expectInvalid({ target: batchCreate }, '"entries"')
})

it('a table may be called "version" or "batch-commit"', async () => {
  for (const target of ['/v1/table/version/drop', '/v1/table/batch-commit/drop']) {
    await attacked.expectDenied({ target }, 'DropTable on')
  }
})
