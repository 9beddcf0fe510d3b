import { beforeEach, expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { expectError } from '../support/expect-error.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

// 409 to a cherry-pick is a result that clients parse: why the branch was not applied.
const shared = useSharedGateway({
  users: ['dev', 'blind'],
  policies: [
    policyOf(['lake'], [ruleFor(['dev']), ruleFor(['blind'], ['all'], { when: 'branch == "main"' })]),
  ],
})
beforeEach(() => shared.upstream.requests.splice(0))

const result = { status: 'failed', preview: { promotedColumns: [] } }
const at = '/v1/table/lake$t/branches'

it('a result with the status 409 is forwarded, and an error is one of the interface', async () => {
  const body = { from_branch: 'ci', dry_run: false }
  const send = () => shared.gateway.post(`${at}/cherry_pick/`, { as: 'dev', body })
  shared.upstream.handler = respondWith(409, result)
  expect(await send()).toMatchObject({ status: 409, json: result })
  shared.upstream.handler = respondWith(409, { error: 'main has moved', code: 14, status: 'failed' })
  expectError(await send(), { kind: 'ConcurrentModification', says: 'main has moved' })
})

it.each(['diff', 'cherry_pick'])('%s needs the permission to read the branch', async (action) => {
  const body = { from_branch: 'ci' }
  shared.upstream.handler = respondWith(200, {})
  expect((await shared.gateway.post(`${at}/${action}/`, { as: 'dev', body })).status).toBe(200)
  expect((await shared.gateway.post(`${at}/${action}/`, { as: 'blind', body })).status).toBe(403)
  expect(
    (await shared.gateway.post(`${at}/${action}/`, { as: 'blind', body: { from_branch: 'main' } })).status,
  ).toBe(200)
  expect(shared.upstream.requests).toHaveLength(2)
})

it('the target cannot be chosen, because only main is known to be changed', async () => {
  const body = { from_branch: 'ci', branch: 'dev' }
  expect((await shared.gateway.post(`${at}/cherry_pick/`, { as: 'dev', body })).status).toBe(400)
})
