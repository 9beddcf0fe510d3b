import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// Names of branches and tags become paths in the storage of the table. Which are refused is in catalog-api/identifiers.test.ts.
const attacked = attackedGateway()
const names = ['../../production', 'a\u0000']
const commit = { id: ['sandbox', 'o'], version: 2, manifest_path: 'o/_versions/s' }

it.each(names)('rejects the branch %j in every location', async (branch) => {
  const expected = { kind: 'InvalidInput', says: /is not a valid branch name|NUL/ } as const
  const table = '/v1/table/sandbox$o'
  const bodies: [target: string, body: object][] = [
    [`${table}/query`, { branch }],
    [`${table}/explain_plan`, { query: { branch } }],
    [`${table}/version/create`, { ...commit, branch }],
    [`${table}/branches/create`, { name: branch }],
    [`${table}/branches/create`, { name: 'a', from_branch: branch }],
    [`${table}/branches/delete`, { name: branch }],
    [`${table}/tags/create`, { tag: 't', version: 1, branch }],
    ['/v1/table/version/batch-create', { entries: [commit, { ...commit, branch }] }],
    ['/v1/table/batch-commit', { operations: [{ create_table_version: { ...commit, branch } }] }],
    ['/v1/table/batch-commit', { operations: [{ delete_table_versions: { id: commit.id, branch } }] }],
  ]
  for (const [target, body] of bodies) await attacked.expectRefused({ as: 'owner', target, body }, expected)
  const query = `branch=${encodeURIComponent(branch)}`
  await attacked.expectRefused({ target: `${table}/version/list?${query}` }, expected)
  await attacked.expectRefused({ target: `${table}/insert?${query}`, body: arrowUpload }, expected)
})

it.each([...names, 'a/b'])('rejects the tag %j', async (tag) => {
  for (const [operation, more] of [
    ['create', { version: 1 }],
    ['update', { version: 1 }],
    ['delete', {}],
    ['version', {}],
  ] as const) {
    await attacked.expectInvalid(
      { as: 'owner', target: `/v1/table/sandbox$o/tags/${operation}`, body: { tag, ...more } },
      /is not a valid tag name/,
    )
  }
})

it.each(['main', 'feature/one', 'v1.2_x', 'été'])('accepts the branch %s', async (branch) => {
  await attacked.expectForwarded({ target: '/v1/table/sandbox$o/query', body: { branch } })
  await attacked.expectForwarded({ target: '/v1/table/sandbox$o/query', body: { branch: '' } })
})
