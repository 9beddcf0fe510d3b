import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createChangePolicy } from '../support/policy-templates.ts'

// The branch was read from one part of the request; a catalog that reads the other part used main.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [createChangePolicy('lake'), createAllowPolicy('read', 'branch.like("ci/*")')],
})

it.each(['/v1/table/lake$t/index/by_day/drop', '/v1/table/read$t/version/list'])(
  '%s: a branch in the body is repeated in the query',
  async (target) => {
    const { target: sent, body } = await attacked.expectForwarded({
      as: 'ci',
      target,
      body: '{"branch":"ci/x"}',
    })
    expect(new URL(sent, 'http://upstream').search).toBe('?branch=ci%2Fx')
    expect(JSON.parse(String(await body))).toEqual({ branch: 'ci/x' })
    const both = { as: 'ci', target: `${target}?branch=ci/x`, body: '{"branch":"ci/y"}' }
    await attacked.expectRefused(both, { kind: 'InvalidInput', says: 'must not differ' })
  },
)

it.each([
  ['explain_plan', '{"branch":"ci/x","query":{"k":1}}', { branch: 'ci/x', query: { branch: 'ci/x', k: 1 } }],
  ['explain_plan', '{"query":{"branch":"ci/x","k":1}}', { branch: 'ci/x', query: { branch: 'ci/x', k: 1 } }],
  ['analyze_plan', '{"query":{"branch":"ci/x","k":1}}', { branch: 'ci/x', query: { branch: 'ci/x', k: 1 } }],
  ['analyze_plan', '{"branch":"ci/x","k":1}', { branch: 'ci/x', k: 1 }],
])('%s with %s is forwarded in one canonical form', async (action, body, expected) => {
  const arrival = await attacked.expectForwarded({ as: 'ci', target: `/v1/table/read$t/${action}`, body })
  expect(JSON.parse(String(await arrival.body))).toEqual(expected)
})

it.each(['{"branch":"main","query":{"branch":"ci/x"}}', '{"branch":"ci/x","query":{"branch":"main"}}'])(
  'rejects a plan with two branches: %s',
  async (body) => {
    const attack = { as: 'ci', target: '/v1/table/read$t/explain_plan', body }
    await attacked.expectRefused(attack, { kind: 'InvalidInput', says: 'must not differ' })
  },
)
