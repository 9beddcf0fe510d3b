import { afterAll, beforeAll, expect, it } from 'vitest'
import { authenticateBearer, captureReason, openAuthenticator } from '../../identity/test-authenticator.ts'
import { signToken, startIssuer, type TestIssuer } from '../../identity/jwt/token-issuer.ts'

let issuer: TestIssuer
beforeAll(async () => {
  issuer = await startIssuer()
})
afterAll(() => issuer.stop())

async function refuse(
  claims: Record<string, unknown>,
  names: { groupsClaim?: string; subjectClaim?: string },
) {
  const authenticator = await openAuthenticator({ issuers: [{ ...issuer.configuration, ...names }] })
  return await captureReason(authenticateBearer(authenticator, await signToken(issuer.key, claims)))
}

const intended = { realm: { my: { app: { roles: ['readers'] } } } }

// An issuer may let users or administrators of an application add claims whose names contain dots.
it.each<[string, Record<string, unknown>]>([
  ['a claim whose name is the path', { 'realm.my.app.roles': ['admins'] }],
  ['a claim whose name begins the path', { 'realm.my': { app: { roles: ['admins'] } } }],
  [
    'a nested member whose name contains a dot',
    { realm: { ...intended.realm, 'my.app': { roles: ['admins'] } } },
  ],
  ['an empty list', { 'realm.my.app.roles': [] }],
  ['null', { 'realm.my.app.roles': null }],
])(
  'groups in a second reading of the path are refused, and never preferred or merged: %s',
  async (_what, added) => {
    expect(await refuse({ ...intended, ...added }, { groupsClaim: 'realm.my.app.roles' })).toBe(
      'invalid_groups',
    )
  },
)

it('a subject in a second reading of the path is refused', async () => {
  const claims = { user: { login: 'alice' }, 'user.login': 'root' }
  expect(await refuse(claims, { subjectClaim: 'user.login' })).toBe('invalid_subject')
})

it('a name with spaces is not several groups', async () => {
  const authenticator = await openAuthenticator({
    issuers: [{ ...issuer.configuration, groupsClaim: 'team' }],
  })
  const token = await signToken(issuer.key, { team: 'readers admins' })
  expect([...(await authenticateBearer(authenticator, token)).groups]).toEqual(['corp:readers admins'])
})
