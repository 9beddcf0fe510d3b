import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// A batch that no rule matches is decided by its entries. They do not override a rule that denies the batch.
const everythingInLake = {
  name: 'lake',
  namespace: ['lake'],
  rules: [{ id: 'all', effect: 'allow' as const, subjects: { users: ['ci', 'free'] }, operations: ['all'] }],
}
const attacked = attackedGateway({
  users: ['ci', 'free'],
  policies: [
    everythingInLake,
    {
      name: 'no-batches',
      namespace: [],
      onDeny: 403,
      rules: [
        {
          id: 'one-by-one',
          effect: 'deny',
          subjects: { users: ['ci'] },
          operations: ['BatchCreateTableVersions', 'BatchCommitTables'],
        },
      ],
    },
  ],
})

const version = { id: ['lake', 't'], version: 2, manifest_path: 't/_versions/staged' }
const batches: [target: string, body: object, operation: string][] = [
  ['/v1/table/version/batch-create', { entries: [version] }, 'BatchCreateTableVersions'],
  ['/v1/table/batch-commit', { operations: [{ create_table_version: version }] }, 'BatchCommitTables'],
]

it.each(batches)('denies %s as a whole', async (target, body, operation) => {
  await attacked.expectRefused(
    { as: 'ci', target, body },
    { kind: 'PermissionDenied', says: `not allowed ${operation} on the root` },
  )
  await attacked.expectForwarded({ as: 'free', target, body })
})

it('allows each of its entries separately', async () => {
  const { id: _id, ...alone } = version
  await attacked.expectForwarded({ as: 'ci', target: '/v1/table/lake$t/version/create', body: alone })
})
