import { expect, onTestFinished, it } from 'vitest'
import type { TokenIssuerInput } from '../../../src/config/token-issuer-settings.ts'
import { authenticateBearer, openAuthenticator, captureReason } from '../test-authenticator.ts'
import { claimsWith, makeIssuerKey, signed } from './forged-tokens.ts'
import { startServer } from './token-issuer.ts'

const key = makeIssuerKey('ES256', 'one')

/** Starts an issuer with the given documents; it responds with 404 to all other paths. */
async function startDocuments() {
  const documents: Record<string, unknown> = {}
  const requested: string[] = []
  const server = await startServer(({ url = '' }, response) => {
    requested.push(url)
    const document = documents[url]
    response.writeHead(document === undefined ? 404 : 200).end(JSON.stringify(document))
  })
  onTestFinished(() => server.stop())
  return { url: server.url, documents, requested }
}

const trust = (issuer: string): TokenIssuerInput => ({
  name: 'corp',
  issuer,
  audience: 'catalog',
  algorithms: ['ES256', 'RS256'],
})

const wellKnown = '/.well-known/openid-configuration'

it.each(['', '/realms/corp', '/tenant/'])('discovers an issuer with the path "%s"', async (path) => {
  const { url, documents, requested } = await startDocuments()
  const issuer = url + path
  const document = path.replace(/\/$/, '') + wellKnown
  documents[document] = { issuer, jwks_uri: `${url}/keys` }
  documents['/keys'] = { keys: [key.published] }
  const authenticator = await openAuthenticator({ issuers: [trust(issuer)] })
  expect(requested).toEqual([document, '/keys'])
  expect((await authenticateBearer(authenticator, signed(key, claimsWith({ iss: issuer })))).name).toBe(
    'corp:alice',
  )
})

it('follows an issuer that moves its keys', async () => {
  const { url, documents } = await startDocuments()
  documents[wellKnown] = { issuer: url, jwks_uri: `${url}/keys` }
  documents['/keys'] = { keys: [] }
  const authenticator = await openAuthenticator({ issuers: [trust(url)] })
  documents[wellKnown] = { issuer: url, jwks_uri: `${url}/new-keys` }
  documents['/new-keys'] = { keys: [key.published] }
  expect((await authenticateBearer(authenticator, signed(key, claimsWith({ iss: url })))).name).toBe(
    'corp:alice',
  )
})

it.each<[string, (url: string) => unknown]>([
  ['of another issuer', (url) => ({ issuer: 'https://other.example', jwks_uri: `${url}/keys` })],
  ['whose issuer ends in a slash', (url) => ({ issuer: `${url}/`, jwks_uri: `${url}/keys` })],
  ['without an issuer', (url) => ({ jwks_uri: `${url}/keys` })],
  ['without keys', (url) => ({ issuer: url })],
  [
    'with keys in clear from another machine',
    (url) => ({ issuer: url, jwks_uri: 'http://corp.example/keys' }),
  ],
  ['with keys in a file', (url) => ({ issuer: url, jwks_uri: 'file:///etc/passwd' })],
  ['that is a list', () => []],
  ['that is not there', () => undefined],
])('a discovery document %s', async (_what, document) => {
  const { url, documents, requested } = await startDocuments()
  documents[wellKnown] = document(url)
  documents['/keys'] = { keys: [key.published] }
  const authenticator = await openAuthenticator({ issuers: [trust(url)] })
  expect(await captureReason(authenticateBearer(authenticator, signed(key, claimsWith({ iss: url }))))).toBe(
    'jwks_unavailable',
  )
  expect(requested).not.toContain('/keys')
})
