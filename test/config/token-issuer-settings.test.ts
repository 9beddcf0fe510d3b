import { expect, it } from 'vitest'
import { tokenIssuersSchema } from '../../src/config/token-issuer-settings.ts'

const good = {
  name: 'corp',
  issuer: 'https://corp.example',
  audience: 'catalog',
  algorithms: ['RS256'],
  jwks: { url: 'https://corp.example/keys' },
}

it('issuers have defaults', () => {
  expect(tokenIssuersSchema.parse([good])).toEqual([{ ...good, audience: ['catalog'], subjectClaim: 'sub' }])
})

it.each<[string, Record<string, unknown>]>([
  ['HS256', { algorithms: ['RS256', 'HS256'] }],
  ['none', { algorithms: ['none'] }],
  ['no algorithms', { algorithms: [] }],
  ['audience left out', { audience: undefined }],
  ['no audience', { audience: [] }],
  ['no issuer', { issuer: '' }],
  ['a name with a colon', { name: 'corp:x' }],
  ['an empty name of a claim', { groupsClaim: '' }],
  ['a list of claims', { groupsClaim: ['realm', 'roles'] }],
  ['a claim that is a map', { groupsClaim: { name: 'groups' } }],
  ['an unknown member', { audiences: ['x'] }],
  ['keys in clear from another machine', { jwks: { url: 'http://corp.example/keys' } }],
  ['keys in clear from a name like this machine', { jwks: { url: 'http://127.0.0.1.corp.example/keys' } }],
  ['keys from a URL with a password', { jwks: { url: 'https://a:b@corp.example/keys' } }],
  ['keys from both', { jwks: { url: 'https://corp.example/keys', file: 'keys.json' } }],
  ['keys from nowhere', { issuer: 'corp', jwks: {} }],
  ['no jwks, and an issuer that cannot be asked', { issuer: 'http://corp.example', jwks: undefined }],
])('%s is an error', (_name, changes) => {
  expect(tokenIssuersSchema.safeParse([{ ...good, ...changes }]).success).toBe(false)
})

it('keys may be fetched over http from this machine', () => {
  for (const url of ['http://localhost:1/keys', 'http://127.0.0.1/keys', 'http://[::1]:8080/keys']) {
    expect(tokenIssuersSchema.safeParse([{ ...good, jwks: { url } }]).success).toBe(true)
  }
})

it('no two issuers share a name or an iss', () => {
  const result = tokenIssuersSchema.safeParse([
    good,
    { ...good, name: 'other' },
    { ...good, issuer: 'https://other.example' },
  ])
  expect(result.error?.issues.map(({ path }) => path)).toEqual([
    [2, 'name'],
    [1, 'issuer'],
  ])
})
