import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway({
  users: ['ann'],
  policies: [
    policyOf(
      ['open'],
      [
        ruleFor(['ann'], ['read']),
        ruleFor(['ann'], ['query'], { effect: 'deny', when: 'context["env"] == "test"' }),
      ],
    ),
    policyOf(['once'], [ruleFor(['ann'], ['all'], { when: 'context["env"] == "test"' }), ruleFor(['ann'])]),
  ],
})

it('evaluates conditions on headers; a deny whose condition fails denies and is counted', async () => {
  const count = async (headers: Record<string, string>) =>
    (await shared.gateway.post('/v1/table/open$orders/count_rows', { as: 'ann', body: {}, headers })).status
  expect(await count({ 'x-catalog-ctx-env': 'prod' })).toBe(200)
  expect(await count({ 'x-catalog-ctx-env': 'test' })).toBe(403)
  expect(await count({})).toBe(403)
  expect(await shared.gateway.metrics()).toMatch(
    /^catalog_gateway_policy_condition_failures_total\{effect="deny"\} [1-9]/m,
  )
})

it('decides once about what the head states, though the body may state more, or comes in parts', async () => {
  const send = async (action: string, body: object) =>
    (await shared.gateway.post(`/v1/table/once$orders/${action}`, { as: 'ann', body })).status
  expect(await send('query', { k: 1, vector: [] })).toBe(200)
  expect(await shared.gateway.metrics()).toMatch(/_condition_failures_total\{effect="allow"\} 1\n/)
  expect(await send('insert', arrowBytes(500_000))).toBe(200)
  // Whether the response may describe the table, too; and once more if the machine is slow.
  expect(await shared.gateway.metrics()).toMatch(/_condition_failures_total\{effect="allow"\} [3-5]\n/)
})
