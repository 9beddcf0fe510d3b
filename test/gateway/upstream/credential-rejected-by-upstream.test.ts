import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { withUpstream } from '../support/open-gateway.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

const refusal = { error: 'the key has expired\n\tat org.lance.Keys(/srv/x)', code: 16 }

it('forwards a 401 if the caller authenticates to the upstream', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(withUpstream(() => ({ identity: 'original' })))
  upstream.answering = respondWith(401, refusal)
  for (const target of ['/v1/table/t/describe', '/v1/table/t/drop']) {
    const response = await gateway.post(target)
    expectError(response, { kind: 'Unauthenticated', says: /^the key has expired$/ })
    expect(response.headers).toHaveProperty('www-authenticate')
  }
  expectError(await gateway.get('/v1/namespace/$/list'), {
    kind: 'Unauthenticated',
    says: /^the key has expired$/,
  })
  upstream.answering = respondWith(407, refusal)
  expectError(await gateway.post('/v1/table/t/describe'), {
    kind: 'ServiceUnavailable',
    status: 502,
    says: 'credential of the gateway',
  })
})

it('responds with 502 if the gateway authenticates', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.answering = respondWith(401, refusal)
  expectError(await gateway.post('/v1/table/t/describe'), {
    kind: 'ServiceUnavailable',
    status: 502,
    says: /^the upstream rejected the credential of the gateway$/,
  })
})
