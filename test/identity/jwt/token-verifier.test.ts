import { afterAll, beforeAll, describe, expect, onTestFinished, it } from 'vitest'
import { TokenCache } from '../../../src/identity/token-cache.ts'
import type { TokenIssuerInput } from '../../../src/config/token-issuer-settings.ts'
import type { IdentityEvent } from '../../../src/identity/runtime.ts'
import { authenticateBearer, openAuthenticator, captureReason, captureError } from '../test-authenticator.ts'
import { makeSigningKey, signToken, startIssuer, type TestIssuer } from './token-issuer.ts'

let issuer: TestIssuer
beforeAll(async () => {
  issuer = await startIssuer()
})
afterAll(() => issuer.stop())

const seconds = (): number => Math.floor(Date.now() / 1000)

async function open(changes: Partial<TokenIssuerInput> = {}, now: () => number = Date.now) {
  return await openAuthenticator({ issuers: [{ ...issuer.configuration, ...changes }], now })
}

it('returns principal, groups and id of the token', async () => {
  const authenticator = await open({ groupsClaim: 'groups' })
  const token = await signToken(issuer.key, { groups: ['sales', 'eu'], jti: 'token-1' })
  expect(await authenticateBearer(authenticator, token)).toEqual({
    name: 'corp:alice',
    method: 'token',
    groups: new Set(['corp:sales', 'corp:eu']),
    credentialId: 'token-1',
    issuer: 'corp',
    claims: expect.objectContaining({ sub: 'alice', groups: ['sales', 'eu'] }) as object,
  })
})

it('identifies a token without a valid jti by its digest', async () => {
  const authenticator = await open()
  for (const jti of [undefined, '', 'two words', 'x'.repeat(200), 7]) {
    const principal = await authenticateBearer(authenticator, await signToken(issuer.key, { jti }))
    expect(principal.credentialId).toMatch(/^[0-9a-f]{16}$/)
  }
})

it('verifies a token once until it expires, with the same principal', async () => {
  let ahead = 0
  const authenticator = await open({}, () => Date.now() + ahead)
  const token = await signToken(issuer.key, { exp: seconds() + 3_600 })
  const first = await authenticateBearer(authenticator, token)
  ahead = 3_000_000
  const again = authenticator.authenticate({ apiKey: undefined, authorization: `bearer  ${token}` })
  expect(again).toBe(first)
  expect(authenticator.status().cachedTokens).toBe(1)
})

it.each([
  ['entries', 0, 2 * 1343],
  ['bytes', 30, 8000],
])('bounds the cache in %s', (_what, length, maxBytes) => {
  const groups = new Set(Array.from({ length }, (_, group) => `group-${group}`))
  const principal = { name: 'corp:alice', method: 'token', groups, credentialId: '1' } as const
  const cache = new TokenCache(Date.now, maxBytes)
  for (let index = 0; index < 5; index++)
    cache.add(String(index), { principal, certificateThumbprint: undefined }, Infinity)
  expect(cache.size).toBeGreaterThan(1)
  expect(cache.size).toBeLessThan(4)
  expect(cache.find('4')?.principal).toBe(principal)
  expect(cache.find('0')).toBeUndefined()
})

it('a token expires at exp plus the clock skew, cached or not', async () => {
  let ahead = 0
  const authenticator = await open({}, () => Date.now() + ahead)
  const exp = seconds() + 60
  const token = await signToken(issuer.key, { exp })
  await authenticateBearer(authenticator, token)
  ahead = (exp + 25) * 1000 - Date.now()
  await authenticateBearer(authenticator, token)
  ahead = (exp + 31) * 1000 - Date.now()
  const refused = await captureError(authenticateBearer(authenticator, token))
  expect(refused).toMatchObject({ status: 401, reason: 'expired_token' })
})

it('refuses a token that is not valid yet', async () => {
  const authenticator = await open()
  expect(
    await captureReason(
      authenticateBearer(authenticator, await signToken(issuer.key, { nbf: seconds() + 120 })),
    ),
  ).toBe('token_not_yet_valid')
  await authenticateBearer(authenticator, await signToken(issuer.key, { nbf: seconds() + 10 }))
})

it('refuses tokens whose lifetime exceeds that of the issuer', async () => {
  const authenticator = await open({ maxLifetimeSeconds: 600 })
  const attempt = (claims: Record<string, unknown>) =>
    signToken(issuer.key, claims).then((token) => captureReason(authenticateBearer(authenticator, token)))
  expect(await attempt({ exp: seconds() + 700 })).toBe('token_lifetime_too_long')
  expect(await attempt({ iat: undefined, exp: seconds() + 60 })).toBe('token_lifetime_too_long')
  expect(await attempt({ iat: seconds() + 1000, exp: seconds() + 1500 })).toBe('token_not_yet_valid')
  await authenticateBearer(authenticator, await signToken(issuer.key, { exp: seconds() + 500 }))
})

it.each(['JWT', 'jwt', 'at+jwt', 'application/at+jwt', undefined])('accepts type %s', async (typ) => {
  const token = await signToken(issuer.key, {}, typ === undefined ? {} : { typ })
  expect((await authenticateBearer(await open(), token)).name).toBe('corp:alice')
})

it('accepts any of several audiences, on either side', async () => {
  const authenticator = await open({ audience: ['catalog', 'catalog-old'] })
  await authenticateBearer(authenticator, await signToken(issuer.key, { aud: ['another', 'catalog-old'] }))
  const token = await signToken(issuer.key, { aud: ['another'] })
  expect(await captureReason(authenticateBearer(authenticator, token))).toBe('wrong_audience')
})

it('verifies tokens without kid with the keys of their issuer', async () => {
  const rotating = await startIssuer()
  onTestFinished(() => rotating.stop())
  const names = ['second', 'third', 'fourth', 'fifth', 'sixth', 'unpublished']
  const [unpublished, ...further] = (
    await Promise.all(names.map((name) => makeSigningKey(name)))
  ).toReversed()
  if (unpublished === undefined) throw new Error('no key was made')
  const keys = [rotating.key, ...further]
  rotating.published = [
    ...keys.map(({ publicKey }) => publicKey),
    (await makeSigningKey('e', 'ES256')).publicKey,
  ]
  const authenticator = await openAuthenticator({ issuers: [rotating.configuration] })
  for (const key of keys) {
    await authenticateBearer(authenticator, await signToken(key, {}, { kid: undefined }))
  }
  const forged = await signToken(unpublished, {}, { kid: undefined })
  expect(await captureReason(authenticateBearer(authenticator, forged))).toBe('invalid_signature')
})

it('does not treat a token of a later time as forged, whichever of several keys signed it', async () => {
  const rotating = await startIssuer()
  onTestFinished(() => rotating.stop())
  const second = await makeSigningKey('second')
  rotating.published = [rotating.key.publicKey, second.publicKey]
  let ahead = 0
  const authenticator = await openAuthenticator({
    issuers: [rotating.configuration],
    now: () => Date.now() + ahead,
  })
  for (const key of [rotating.key, second]) {
    const nbf = seconds() + ahead / 1000 + 600
    const token = await signToken(key, { nbf }, { kid: undefined })
    for (let count = 0; count < 2; count += 1) {
      expect(await captureReason(authenticateBearer(authenticator, token))).toBe('token_not_yet_valid')
    }
    ahead += 601_000
    expect((await authenticateBearer(authenticator, token)).name).toBe('corp:alice')
  }
})

describe('subjects', () => {
  it.each([undefined, '', 7, null, ['alice'], 'a\u0000b', 'a\nb', 'a\u0085b', 'a\u2028b', 'x'.repeat(3000)])(
    'refuses %j',
    async (sub) => {
      expect(
        await captureReason(authenticateBearer(await open(), await signToken(issuer.key, { sub }))),
      ).toMatch(/^invalid_subject|malformed_token$/)
    },
  )

  it('reads another claim, also inside an object', async () => {
    const email = await open({ subjectClaim: 'email' })
    expect((await authenticateBearer(email, await signToken(issuer.key, { email: 'a@b' }))).name).toBe(
      'corp:a@b',
    )
    const inside = await open({ subjectClaim: 'user.login' })
    const token = await signToken(issuer.key, { user: { login: 'al' } })
    expect((await authenticateBearer(inside, token)).name).toBe('corp:al')
    const dotted = await open({ subjectClaim: 'corp.example/user.login' })
    const nested = await signToken(issuer.key, { 'corp.example/user': { login: 'al' } })
    expect((await authenticateBearer(dotted, nested)).name).toBe('corp:al')
    const inherited = await open({ subjectClaim: 'constructor.name' })
    expect(await captureReason(authenticateBearer(inherited, await signToken(issuer.key)))).toBe(
      'invalid_subject',
    )
  })
})

describe('groups', () => {
  const cases: readonly [string, string, Record<string, unknown>, string[]][] = [
    ['a list', 'groups', { groups: ['a', 'b', 'a'] }, ['corp:a', 'corp:b']],
    ['one', 'groups', { groups: 'a' }, ['corp:a']],
    ['none', 'groups', {}, []],
    ['inside an object', 'realm.roles', { realm: { roles: ['a'] } }, ['corp:a']],
    ['a claim named by a URL', 'https://c.example/groups', { 'https://c.example/groups': ['a'] }, ['corp:a']],
    [
      'inside an object with a dot in its name',
      'resource_access.my.client.roles',
      { resource_access: { my: {}, 'my.client': { roles: ['a'] } } },
      ['corp:a'],
    ],
    [
      'inside a claim named by a URL',
      'https://c.example/app.groups',
      { 'https://c.example/app': { groups: ['a'] } },
      ['corp:a'],
    ],
    ['scopes in one text', 'scope', { scope: 'openid  eng' }, ['corp:openid', 'corp:eng']],
    ['scopes without any', 'scp', { scp: '' }, []],
    ['scopes in a list', 'scp', { scp: ['a', 'b c'] }, ['corp:a', 'corp:b c']],
    ['a name with a space', 'groups', { groups: 'data team' }, ['corp:data team']],
    ['a nested scope', 'app.scope', { app: { scope: 'a b' } }, ['corp:a b']],
    ['a name that is inherited', 'constructor.name', {}, []],
    ['with the prefix of another issuer', 'groups', { groups: ['other:admins'] }, ['corp:other:admins']],
  ]
  it.each(cases)(
    'groups in the claim become groups of the issuer: %s',
    async (_name, groupsClaim, claims, expected) => {
      const principal = await authenticateBearer(
        await open({ groupsClaim }),
        await signToken(issuer.key, claims),
      )
      expect([...principal.groups]).toEqual(expected)
    },
  )

  it.each([[7], [['a', 7]], [{ a: 1 }], [['a\nb']], [['']], [null]])('refuses %j', async (groups) => {
    const token = await signToken(issuer.key, { groups })
    expect(await captureReason(authenticateBearer(await open({ groupsClaim: 'groups' }), token))).toBe(
      'invalid_groups',
    )
  })

  it.each([
    ['groups', 'groups'],
    ['realm.roles', 'realm'],
    ['https://c.example/app.groups', 'https://c.example/app'],
  ])('refuses groups at %j that are stored elsewhere by the issuer', async (groupsClaim, name) => {
    const token = await signToken(issuer.key, { _claim_names: { [name]: 'src1' } })
    expect(await captureReason(authenticateBearer(await open({ groupsClaim }), token))).toBe('invalid_groups')
  })

  it('reports a token without the claim, but not an empty claim', async () => {
    const events: IdentityEvent[] = []
    const authenticator = await openAuthenticator({
      issuers: [{ ...issuer.configuration, groupsClaim: 'realm.roles' }],
      report: (event) => events.push(event),
    })
    const reported = () => events.filter(({ outcome }) => outcome === 'missing-groups')
    await authenticateBearer(authenticator, await signToken(issuer.key, { realm: { roles: [] } }))
    expect(reported()).toEqual([])
    await authenticateBearer(authenticator, await signToken(issuer.key, { realm: {} }))
    await authenticateBearer(authenticator, await signToken(issuer.key, { 'realm.role': [] }))
    const event = { source: 'corp', outcome: 'missing-groups' }
    expect(reported()).toEqual([
      { ...event, cause: 'no claim "realm.roles"' },
      { ...event, cause: 'no claim "realm.roles"; did you mean "realm.role"?' },
    ])
  })
})
