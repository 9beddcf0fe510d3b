import { expect, it, onTestFinished } from 'vitest'
import { makeSigningKey, signToken, startIssuer } from '../../identity/jwt/token-issuer.ts'
import { seriesOf } from '../metrics/series.ts'
import { linesOf, servingGateway } from '../serving-gateway.ts'

it('unusable keys are logged once, and tokens without groups once and in a metric', async () => {
  const issuer = await startIssuer()
  onTestFinished(() => issuer.stop())
  Object.assign(issuer, { published: [issuer.key.publicKey, { kty: 'oct', kid: 'odd', k: 'c2VjcmV0' }] })
  const gateway = await servingGateway({
    identity: {
      apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' },
      issuers: [{ ...issuer.configuration, groupsClaim: 'resource_access.my.client.roles' }],
    },
  })
  for (const jti of ['one', 'two']) {
    const authorization = `Bearer ${await signToken(issuer.key, { jti, resource_access: {} })}`
    const response = await fetch(`${gateway.url}/v1/table/a$t/describe`, {
      method: 'POST',
      headers: { authorization },
    })
    expect(response.status).not.toBe(401)
  }
  expect(await seriesOf(gateway, 'catalog_gateway_tokens_without_groups_total')).toEqual({
    '{issuer="corp"}': 2,
  })
  const unknown = await signToken(await makeSigningKey('unknown'))
  const refused = await fetch(`${gateway.url}/v1/table/a$t/describe`, {
    method: 'POST',
    headers: { authorization: `Bearer ${unknown}` },
  })
  expect(refused.status).toBe(401)
  expect(issuer.requests()).toBe(2)
  const lines = linesOf(await gateway.stop()).filter(({ source }) => source === 'corp')
  expect(lines).toEqual([
    expect.objectContaining({
      msg: 'unusable keys in JWKS',
      error: 'keys[1] (kid "odd") cannot be read as a public key of kty "oct"',
    }),
    expect.objectContaining({ msg: 'groups claim not found in a token' }),
  ])
})
