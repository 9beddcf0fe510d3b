import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose'
import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { claimsWith, makeIssuerKey, signed } from '../../identity/jwt/forged-tokens.ts'
import type { GatewaySetup } from '../support/open-gateway.ts'
import { getHeaderValues, type ReceivedRequest } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

const describeOrders = '/v1/table/prod$orders/describe'
const signer = makeIssuerKey('ES256', 'one')
const token = (): string => `Bearer ${signed(signer, claimsWith({ groups: ['eu'] }))}`

const policies = [policyOf([], [ruleFor(['dev', 'corp:alice'])])]

interface Reported {
  readonly identity: 'none' | 'original' | 'assertion'
  readonly published?: readonly KeyObject[]
}

function setup({ identity, published = [] }: Reported): GatewaySetup {
  return {
    policies,
    async adjust(settings, folder) {
      const [jwks, keyFile] = [join(folder, 'jwks.json'), join(folder, 'assertion.pem')]
      await writeFile(jwks, JSON.stringify({ keys: [signer.published] }))
      const keys = [generateKeyPairSync('ed25519').privateKey, ...published]
      await writeFile(keyFile, keys.map(pem).join(''))
      const issuer = {
        name: 'corp',
        issuer: 'https://corp.example',
        audience: ['catalog'],
        jwks: { file: jwks },
      }
      const claims = { subjectClaim: 'sub', groupsClaim: 'groups' }
      return {
        ...settings,
        upstreams: settings.upstreams.map((upstream) => ({ ...upstream, identity })),
        identity: {
          ...settings.identity,
          issuers: [{ ...issuer, ...claims, algorithms: ['ES256'] }],
          assertion: { issuer: 'https://gateway.example', keyFile },
        },
      }
    },
  }
}

function pem(key: KeyObject): string {
  return key.type === 'private'
    ? key.export({ type: 'pkcs8', format: 'pem' }).toString()
    : key.export({ type: 'spki', format: 'pem' }).toString()
}

function credentialsOf(arrivals: readonly ReceivedRequest[]): Record<string, string[]> {
  const arrival = arrivals.at(-1)
  const names = ['x-api-key', 'authorization', 'x-lancedb-credential-type', 'x-catalog-assertion']
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = arrival === undefined ? [] : getHeaderValues(arrival, name)
      return values.length === 0 ? [] : [[name, values]]
    }),
  )
}

it('only the original credential that was verified', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup({ identity: 'original' }))
  await gateway.post(describeOrders)
  expect(credentialsOf(upstream.requests)).toEqual({ 'x-api-key': [gateway.key('dev')] })
  const authorization = token()
  await gateway.post(describeOrders, { as: null, headers: { authorization } })
  expect(credentialsOf(upstream.requests)).toEqual({ authorization: [authorization] })
})

it.each([
  ['none', 'oidc', {}],
  ['assertion', 'oidc', {}],
  ['original', 'oidc', { 'x-lancedb-credential-type': ['oidc'] }],
  ['original', 'OIDC', {}],
  ['original', 'session', {}],
] as const)('with %s, the type %j of a token of LanceDB', async (identity, type, expected) => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup({ identity }))
  const named = { 'x-lancedb-credential-type': type }
  await gateway.post(describeOrders, { as: null, headers: { authorization: token(), ...named } })
  const { authorization, 'x-catalog-assertion': assertion, ...sent } = credentialsOf(upstream.requests)
  expect([authorization, assertion].map((values) => values?.length)).toEqual([
    identity === 'original' ? 1 : undefined,
    identity === 'assertion' ? 1 : undefined,
  ])
  expect(sent).toEqual(expected)
  // An API key has no type.
  await gateway.post(describeOrders, { headers: named })
  expect(credentialsOf(upstream.requests)).not.toHaveProperty('x-lancedb-credential-type')
})

it('an assertion verifiable by the JWKS: principal, request and expiry', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup({ identity: 'assertion' }))
  const headers = { authorization: token(), 'x-request-id': 'request-7' }
  await gateway.post(describeOrders, { as: null, headers })
  const { 'x-catalog-assertion': [assertion = ''] = [], ...others } = credentialsOf(upstream.requests)
  expect(others).toEqual({})
  const claims = await verify(gateway.url, assertion)
  expect(claims).toEqual({
    iss: 'https://gateway.example',
    aud: 'catalog',
    sub: 'corp:alice',
    groups: ['corp:eu'],
    operation: 'DescribeTable',
    id: ['prod', 'orders'],
    policy_revision: expect.stringMatching(/./) as string,
    request_id: 'request-7',
    iat: expect.any(Number) as number,
    exp: (claims.iat ?? 0) + 60,
  })
  await gateway.post('/v1/table/prod$orders/drop', { body: {} })
  const { 'x-catalog-assertion': [forChange = ''] = [] } = credentialsOf(upstream.requests)
  expect(await verify(gateway.url, forChange)).toMatchObject({ sub: 'dev', operation: 'DropTable' })
})

it('publishes two keys during a rotation, without private parts', async () => {
  const [next, before] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
  const { gateway } = await startGatewayAndUpstream(
    setup({ identity: 'assertion', published: [next.privateKey, before.publicKey] }),
  )
  const { keys } = await publishedKeys(gateway.url)
  expect(keys.map(({ x }) => x)).toEqual([
    expect.any(String),
    next.publicKey.export({ format: 'jwk' }).x,
    before.publicKey.export({ format: 'jwk' }).x,
  ])
  for (const key of keys) {
    expect(Object.keys(key).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
  }
})

it('a key that is not of Ed25519 prevents the start', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const starting = startGatewayAndUpstream(setup({ identity: 'assertion', published: [privateKey] }))
  await expect(starting).rejects.toThrow('expected an Ed25519 key')
})

it('publishes nothing if nothing is signed', async () => {
  const { gateway } = await startGatewayAndUpstream()
  expect((await gateway.get('/.well-known/jwks.json', { as: null })).status).toBe(404)
})

async function publishedKeys(url: string): Promise<JSONWebKeySet> {
  const response = await fetch(`${url}/.well-known/jwks.json`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  return (await response.json()) as JSONWebKeySet
}

async function verify(url: string, assertion: string): Promise<JWTPayload> {
  const { payload } = await jwtVerify(assertion, createLocalJWKSet(await publishedKeys(url)), {
    issuer: 'https://gateway.example',
    audience: 'catalog',
    algorithms: ['EdDSA'],
  })
  return payload
}
