import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, it } from 'vitest'
import { introspectionSchema, type IntrospectionSettings } from '../../../src/config/token-issuer-settings.ts'
import { createFileFollower } from '../../../src/lib/fs/follow-files.ts'
import { openOutbound } from '../../../src/outbound/outbound.ts'
import { authenticateBearer, openAuthenticator, captureReason, captureError } from '../test-authenticator.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import { startIdentityProvider } from './identity-provider.ts'
import { startServer } from '../jwt/token-issuer.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const audience = 'urn:catalog'

async function settingsFor(
  url: string,
  changes: Partial<IntrospectionSettings> = {},
): Promise<IntrospectionSettings> {
  const clientSecretFile = join(await temporaryFolder(), 'secret')
  await writeFile(clientSecretFile, 'gateway-secret\n')
  const stated = { name: 'corp', url, issuer: 'https://corp.example', audience, clientId: 'gateway' }
  return introspectionSchema.parse({ ...stated, clientSecretFile, ...changes })
}

/** Starts an authorization server with that response, and an authenticator that queries it. */
async function openWithServer(response: RequestListener, changes: Partial<IntrospectionSettings> = {}) {
  let ahead = 0
  const server = await startServer(response)
  onTestFinished(() => server.stop())
  const introspection = await settingsFor(server.url, changes)
  const authenticator = await openAuthenticator({ introspection, now: () => Date.now() + ahead })
  return { server, authenticator, advance: (ms: number) => (ahead += ms) }
}

const seconds = (): number => Math.floor(Date.now() / 1000)
const active = (changes: object = {}) => ({
  active: true,
  iss: 'https://corp.example',
  aud: audience,
  sub: 'alice',
  exp: seconds() + 3600,
  token_type: 'Bearer',
  ...changes,
})
const says =
  (body: unknown): RequestListener =>
  (_request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))

it('an opaque token of a real OpenID provider identifies its client, and is refused after its revocation', async () => {
  const provider = await startIdentityProvider()
  onTestFinished(() => provider.stop())
  const introspection = await settingsFor(provider.introspectionUrl, {
    issuer: provider.url,
    subjectClaim: 'client_id',
  })
  let ahead = 0
  const authenticator = await openAuthenticator({ introspection, now: () => Date.now() + ahead })
  const token = await provider.issueToken(audience)
  const loader = { name: 'corp:loader', method: 'token' }
  expect(await authenticateBearer(authenticator, token)).toMatchObject(loader)
  await provider.revokeToken(token)
  expect(await authenticateBearer(authenticator, token)).toMatchObject(loader)
  ahead = 60_000
  expect(await captureReason(authenticateBearer(authenticator, token))).toBe('inactive_token')
})

it('a rotated client secret is used at once, an empty file keeps the last one, and a wrong one is 503', async () => {
  let accepted = 'one'
  const server = await startServer((request, response) => {
    const sent = Buffer.from(request.headers.authorization?.slice('Basic '.length) ?? '', 'base64')
    if (String(sent) !== `gateway:${accepted}`) response.statusCode = 401
    says(active())(request, response)
  })
  onTestFinished(() => server.stop())
  const introspection = await settingsFor(server.url)
  await writeFile(introspection.clientSecretFile, 'one\n')
  const failures: string[] = []
  const files = createFileFollower({ info: () => undefined, error: ({ setting }) => failures.push(setting) })
  onTestFinished(() => files.close())
  const outbound = await openOutbound({}, {}, files.follow)
  const authenticator = await openAuthenticator({ introspection, outbound })
  expect(await authenticateBearer(authenticator, 'first')).toMatchObject({ name: 'corp:alice' })

  // Another length: two writes may happen at the same time of the clock of the file system.
  accepted = 'another'
  await writeFile(introspection.clientSecretFile, 'another\n')
  expect(await authenticateBearer(authenticator, 'second')).toMatchObject({ name: 'corp:alice' })

  await writeFile(introspection.clientSecretFile, '')
  await eventually(() => expect(failures).toContain('identity.introspection.clientSecretFile'))
  expect(await authenticateBearer(authenticator, 'third')).toMatchObject({ name: 'corp:alice' })

  accepted = 'none of these'
  const refused = await captureError(authenticateBearer(authenticator, 'fourth'))
  expect(refused).toMatchObject({ status: 503, reason: 'introspection_unavailable' })
  expect(refused.headers).toHaveProperty('retry-after')
})

it('sends client and secret with HTTP Basic, and the token in the body', async () => {
  let received: unknown
  const { authenticator } = await openWithServer(
    (request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        const { authorization } = request.headers
        received = { method: request.method, authorization, body }
        says(active())(request, response)
      })
    },
    { clientId: 'the gateway:1' },
  )
  await authenticateBearer(authenticator, 'a+b/c==')
  expect(received).toEqual({
    method: 'POST',
    authorization: `Basic ${btoa('the+gateway%3A1:gateway-secret')}`,
    body: 'token=a%2Bb%2Fc%3D%3D&token_type_hint=access_token',
  })
})

describe('responses', () => {
  it.each<[string, string, object]>([
    ['not active', 'inactive_token', { active: false }],
    ['of another issuer', 'unknown_issuer', active({ iss: 'https://other.example' })],
    ['without an audience', 'wrong_audience', active({ aud: undefined })],
    ['for another audience', 'wrong_audience', active({ aud: ['billing'] })],
    ['about a refresh token', 'wrong_token_type', active({ token_type: 'refresh_token' })],
    ['about a token that is bound to a key', 'wrong_token_type', active({ token_type: 'DPoP' })],
    ['about a token that is bound, but does not say so', 'unproven_binding', active({ cnf: { jkt: 'x' } })],
    ['that has expired', 'expired_token', active({ exp: seconds() - 60 })],
    ['that begins later', 'token_not_yet_valid', active({ nbf: seconds() + 3600 })],
    ['without a subject', 'invalid_subject', active({ sub: undefined })],
    ['with groups that are none', 'invalid_groups', active({ groups: [7] })],
  ])('%s: refused, and cached for a while', async (_name, expected, response) => {
    const { authenticator, server, advance } = await openWithServer(says(response), { groupsClaim: 'groups' })
    expect(await captureReason(authenticateBearer(authenticator, 'opaque'))).toBe(expected)
    expect(await captureReason(authenticateBearer(authenticator, 'opaque'))).toBe('inactive_token')
    expect(server.requests()).toBe(1)
    advance(10_000)
    expect(await captureReason(authenticateBearer(authenticator, 'opaque'))).toBe(expected)
    expect(server.requests()).toBe(2)
  })

  it.each<[string, object]>([
    ['scope', { scope: 'openid eng' }],
    ['app.example.roles', { 'app.example': { roles: ['openid', 'eng'] } }],
  ])('groups come from %j', async (groupsClaim, claims) => {
    const { authenticator } = await openWithServer(says(active(claims)), { groupsClaim })
    const { groups } = await authenticateBearer(authenticator, 'opaque')
    expect([...groups]).toEqual(['corp:openid', 'corp:eng'])
  })

  it.each<[string, RequestListener]>([
    ['an error', (_request, response) => response.writeHead(500).end('{"active":true}')],
    ['no verdict', says({ sub: 'alice' })],
    ['a verdict that is text', says(active({ active: 'true' }))],
    ['an end that is text', says(active({ exp: '9999999999' }))],
    ['too much', (_request, response) => response.end(' '.repeat(600_000))],
  ])('%s: 503, and not cached', async (_name, response) => {
    const { authenticator, server } = await openWithServer(response)
    for (const requested of [1, 2]) {
      expect(await captureReason(authenticateBearer(authenticator, 'opaque'))).toBe(
        'introspection_unavailable',
      )
      expect(server.requests()).toBe(requested)
    }
  })

  it('nothing, in time: 503', async () => {
    const { authenticator } = await openWithServer(() => undefined)
    expect(await captureReason(authenticateBearer(authenticator, 'opaque'))).toBe('introspection_unavailable')
  })
})

it('concurrent requests with the same token share one query', async () => {
  const { authenticator, server } = await openWithServer(says(active()))
  const principals = await Promise.all(
    Array.from({ length: 100 }, () => authenticateBearer(authenticator, 'opaque')),
  )
  expect(new Set(principals.map(({ name }) => name))).toEqual(new Set(['corp:alice']))
  expect(server.requests()).toBe(1)
  expect(
    authenticator.authenticate({ apiKey: undefined, authorization: 'Bearer opaque' }),
  ).not.toBeInstanceOf(Promise)
})

it('a response expires with its token and the clock skew at the latest', async () => {
  const { authenticator, server, advance } = await openWithServer(says(active({ exp: seconds() })))
  await authenticateBearer(authenticator, 'opaque')
  advance(31_000)
  expect(await captureReason(authenticateBearer(authenticator, 'opaque'))).toBe('expired_token')
  expect(server.requests()).toBe(2)
})

it.each([
  ['active', active()],
  ['inactive', { active: false }],
])('%s tokens are not cached for longer if the clock is set back', async (_name, response) => {
  const { authenticator, server, advance } = await openWithServer(says(response))
  await authenticateBearer(authenticator, 'opaque').catch(() => undefined)
  advance(-600_000)
  await authenticateBearer(authenticator, 'opaque').catch(() => undefined)
  await authenticateBearer(authenticator, 'opaque').catch(() => undefined)
  expect(server.requests()).toBe(2)
})

it('bounds a flood of random tokens, which does not evict a valid one', async () => {
  const gate = createDeferred()
  let isOpen = true
  const { authenticator, server } = await openWithServer(
    (request, response) =>
      void (isOpen
        ? says(active())(request, response)
        : gate.promise.then(() => says({ active: false })(request, response))),
  )
  await authenticateBearer(authenticator, 'good')
  isOpen = false
  const flood = Array.from({ length: 100 }, (_, index) =>
    captureReason(authenticateBearer(authenticator, `random-${index}`)),
  )
  expect((await authenticateBearer(authenticator, 'good')).name).toBe('corp:alice')
  gate.resolve(undefined)
  const reasons = await Promise.all(flood)
  expect(reasons.filter((each) => each === 'introspection_unavailable')).toHaveLength(36)
  expect(reasons.filter((each) => each === 'inactive_token')).toHaveLength(64)
  expect(server.requests()).toBe(65)
})

it('never queries a token that looks signed', async () => {
  const { authenticator, server } = await openWithServer(says(active()))
  for (const token of [
    'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.AAAA',
    'eyJhbGciOiJub25lIn0.e30.',
    'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AA.AA.AA',
  ]) {
    expect(await captureReason(authenticateBearer(authenticator, token))).toMatch(
      /^malformed_token|unknown_issuer$/,
    )
  }
  expect(server.requests()).toBe(0)
})

it('a missing secret prevents the start', async () => {
  const introspection = await settingsFor('https://corp.example/introspect', { clientSecretFile: '/nowhere' })
  await expect(openAuthenticator({ introspection })).rejects.toThrow('ENOENT')
})
