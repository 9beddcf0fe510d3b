import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createChangePolicy } from '../support/policy-templates.ts'

// Facts of the request were applied to the permissions on the tables below.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createChangePolicy('required'),
    createAllowPolicy('skipping', 'mode == "skip" || behavior == "restrict"'),
  ],
})

it.each([
  [
    'drop',
    '{"behavior":"Cascade","branch":"ci/x"}',
    'DropNamespace does not accept member "branch" of the body; omit it',
  ],
  [
    'drop',
    '{"behavior":"Cascade","query":{"branch":"ci/x"}}',
    'DropNamespace has no member "query" in its body',
  ],
  [
    'create',
    '{"mode":"Overwrite","branch":"ci/x"}',
    'CreateNamespace does not accept member "branch" of the body',
  ],
  [
    'create',
    '{"mode":"Overwrite","behavior":"restrict"}',
    'CreateNamespace does not accept member "behavior" of the body',
  ],
])('%s with %s is denied', async (action, body, says) => {
  const target = `/v1/namespace/required/${action}`
  await attacked.expectRefused({ as: 'ci', target, body }, { kind: 'InvalidInput', says })
})

it.each(['?branch=ci/x', '?behavior=restrict', '?mode=Skip'])(
  'a cascade with %s is denied',
  async (query) => {
    const attack = { as: 'ci', target: `/v1/namespace/required/drop${query}`, body: '{"behavior":"Cascade"}' }
    await attacked.expectRefused(attack, {
      kind: 'InvalidInput',
      says: 'DropNamespace does not accept query parameter',
    })
  },
)

it.each(['{"behavior":"Cascade"}', '{"mode":"Skip","behavior":"Cascade"}'])(
  'the mode of the request does not apply to the objects below: %s',
  async (body) => {
    const attack = { as: 'ci', target: '/v1/namespace/skipping/drop', body }
    await attacked.expectRefused(attack, { kind: 'PermissionDenied', says: 'not allowed Drop' })
  },
)
