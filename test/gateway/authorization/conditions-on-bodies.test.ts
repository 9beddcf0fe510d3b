import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { expectError } from '../support/expect-error.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway({
  users: ['ci'],
  policies: [
    policyOf(['lake'], [ruleFor(['ci'], ['write', 'DescribeTable'], { when: 'branch.like("ci/*")' })]),
  ],
})

it('denies before the body is read if no body could change the decision', async () => {
  const response = await shared.gateway.post('/v1/table/lake$orders/drop_columns', {
    as: 'ci',
    body: Readable.from(unfinished()),
    headers: { 'content-type': 'application/json' },
  })
  expect(response).toMatchObject({ status: 403 })
})

it('reads a large body completely if a condition depends on it', async () => {
  const context = { padding: 'x'.repeat(600 * 1024) }
  const query = { context, branch: 'ci/7' }
  const describe = (body: object) => shared.gateway.post('/v1/table/lake$orders/describe', { as: 'ci', body })
  expect(await describe(query)).toMatchObject({ status: 200 })
  expectError(await describe({ context, branch: 'main' }), {
    kind: 'PermissionDenied',
    says: /DescribeTable/,
  })
  expect(shared.upstream.requests).toHaveLength(1)
})

async function* unfinished(): AsyncGenerator<string> {
  yield '{"branch":'
  await new Promise(() => undefined)
}
