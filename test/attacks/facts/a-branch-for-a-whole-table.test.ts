import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createChangePolicy } from '../support/policy-templates.ts'

// A branch in a request that changes a whole table, or a tag of any branch, satisfied the rule.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createChangePolicy('required', undefined, { users: ['dev'] }),
    createAllowPolicy('allowed', 'branch.like("ci/*")'),
  ],
})

it.each(['required', 'allowed'])(
  'a branch does not allow changing a whole table in %s',
  async (namespace) => {
    for (const [action, body] of [
      ['register', '{"location":"orders.lance","mode":"Overwrite","branch":"ci/x"}'],
      ['tags/delete', '{"tag":"v1","branch":"ci/x"}'],
      ['drop', '{"branch":"ci/x"}'],
    ] as const) {
      const target = `/v1/table/${namespace}$orders/${action}`
      await attacked.expectRefused(
        { as: 'ci', target, body },
        { kind: 'PermissionDenied', says: 'not allowed' },
      )
      const says = 'does not accept member "branch" of the body; omit it'
      await attacked.expectRefused({ as: 'dev', target, body }, { kind: 'InvalidInput', says })
    }
  },
)

it.each(['required', 'allowed'])('a branch does not allow moving a tag in %s', async (namespace) => {
  const attack = {
    as: 'ci',
    target: `/v1/table/${namespace}$orders/tags/update`,
    body: '{"tag":"v1","version":1,"branch":"ci/x"}',
  }
  await attacked.expectRefused(attack, { kind: 'PermissionDenied', says: 'not allowed UpdateTableTag' })
})
