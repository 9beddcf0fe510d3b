import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// A batch that no rule matches is decided by its entries. They do not override a rule that denies the batch.
const attacked = attackedGateway({
  users: ['ci', 'free'],
  policies: [
    policyOf(['lake'], [ruleFor(['ci', 'free'])]),
    policyOf([], [ruleFor(['ci'], ['BatchCreateTableVersions', 'BatchCommitTables'], { effect: 'deny' })]),
  ],
})

const version = { id: ['lake', 't'], version: 2, manifest_path: 't/_versions/staged' }
const batches: [target: string, body: object, operation: string][] = [
  ['/v1/table/version/batch-create', { entries: [version] }, 'BatchCreateTableVersions'],
  ['/v1/table/batch-commit', { operations: [{ create_table_version: version }] }, 'BatchCommitTables'],
]

it.each(batches)('denies %s as a whole', async (target, body, operation) => {
  await attacked.expectDenied({ as: 'ci', target, body }, `not allowed ${operation} on the root`)
  await attacked.expectForwarded({ as: 'free', target, body })
})

it('allows each of its entries separately', async () => {
  const { id: _id, ...alone } = version
  await attacked.expectForwarded({ as: 'ci', target: '/v1/table/lake$t/version/create', body: alone })
})
