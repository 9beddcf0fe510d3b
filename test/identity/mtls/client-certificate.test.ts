import { randomBytes, X509Certificate } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { Agent, createServer, request as sendRequest } from 'node:https'
import { join } from 'node:path'
import type { TlsOptions } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, it } from 'vitest'
import { createKey } from '../../../src/identity/api-keys/key-store.ts'
import { createAuthenticator, type AuthenticatorOptions } from '../../../src/identity/authenticate.ts'
import { AuthenticationError } from '../../../src/identity/authentication-error.ts'
import {
  hasOpenssl,
  makeAuthority,
  showsSentIssuers,
  type TestAuthority,
  type TestCertificate,
} from './test-certificates.ts'
import { makeIssuerKey, claimsWith, signed } from '../jwt/forged-tokens.ts'
import { listenLocally } from '../../support/local-server.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

const spiffe = 'spiffe://cluster.example/ns/etl/sa/loader'
const mesh = { name: 'mesh' }

const inADay = () => Date.now() + 1.5 * 86_400_000

/** The claim of a token bound to this certificate. */
function boundTo({ cert }: TestCertificate): Record<string, unknown> {
  const fingerprint = new X509Certificate(cert).fingerprint256.replaceAll(':', '')
  return { cnf: { 'x5t#S256': Buffer.from(fingerprint, 'hex').toString('base64url') } }
}

describe.skipIf(!hasOpenssl())('client certificates (skipped without openssl)', () => {
  const folder = sharedFolder()
  let own: TestAuthority
  let server: TestCertificate
  let good: TestCertificate

  beforeAll(async () => {
    own = await makeAuthority(folder, 'own')
    server = await own.issue('server', 'IP:127.0.0.1', { usage: 'serverAuth' })
    good = await own.issue('good', `URI:${spiffe}`, { usage: 'clientAuth' })
  })

  /** Starts a TLS server that responds with the principal or the reason of the refusal. */
  async function listen(options: AuthenticatorOptions, tls: TlsOptions = {}): Promise<number> {
    const authenticator = await createAuthenticator(options)
    const listening = createServer(
      { ...server, ca: own.cert, requestCert: true, rejectUnauthorized: false, ...tls },
      ({ headers, socket: connection }, response) => {
        const { 'x-api-key': key, authorization } = headers
        const apiKey = typeof key === 'string' ? key : undefined
        new Promise((resolve) => resolve(authenticator.authenticate({ apiKey, authorization, connection })))
          .catch((error: unknown) => (error instanceof AuthenticationError ? error.reason : String(error)))
          .then((result) => response.end(JSON.stringify(result)))
          .catch(() => response.destroy())
      },
    )
    onTestFinished(() => authenticator.close())
    return listenLocally(listening)
  }

  /** Returns the response of the server; rejects if TLS refuses the connection. */
  function ask(
    port: number,
    client?: TestCertificate,
    headers: Record<string, string> = {},
    agent: Agent | false = false,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const certificate = client && { cert: client.cert, key: client.key }
      const where = { host: '127.0.0.1', port, ca: own.cert, agent }
      const request = sendRequest({ ...where, ...certificate, headers }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => resolve(JSON.parse(text)))
        response.on('error', reject)
      })
      request.on('error', reject)
      request.end()
    })
  }

  it('a certificate identifies its caller by its URI', async () => {
    const port = await listen({ clientCertificates: mesh })
    expect(await ask(port, good)).toEqual({
      name: `mesh:${spiffe}`,
      method: 'certificate',
      groups: {},
      credentialId: new X509Certificate(good.cert).fingerprint256.replaceAll(':', '').toLowerCase(),
      issuer: 'mesh',
    })
  })

  it.each([
    ['none', ''],
    ['only of another kind', 'DNS:loader.example'],
    ['two', 'URI:spiffe://a/b, URI:spiffe://a/c'],
    [
      'that holds a list of its own (CVE-2021-44532)',
      '@names\n[names]\nURI.1=spiffe://a/b, URI:spiffe://a/root',
    ],
  ])('a certificate with names: %s', async (_what, names) => {
    const port = await listen({ clientCertificates: mesh })
    expect(await ask(port, await own.issue('odd', names))).toBe('invalid_certificate_name')
  })

  it('a missing certificate is not a credential', async () => {
    expect(await ask(await listen({ clientCertificates: mesh }))).toBe('missing_credential')
  })

  it('ignores certificates unless configured', async () => {
    expect(await ask(await listen({}), good)).toBe('missing_credential')
  })

  it('refuses untrusted, expired, revoked and server certificates, even if TLS accepts them', async () => {
    const foreign = await makeAuthority(folder, 'foreign')
    const revoked = await own.issue('revoked', `URI:${spiffe}`)
    const bad = [
      await foreign.issue('stranger', `URI:${spiffe}`),
      await own.issue('expired', `URI:${spiffe}`, { days: -1 }),
      await own.issue('for-servers', `URI:${spiffe}`, { usage: 'serverAuth' }),
      revoked,
    ]
    const crl = await own.revocationList([revoked])
    const lenient = await listen({ clientCertificates: mesh }, { crl })
    const strict = await listen({ clientCertificates: mesh }, { crl, rejectUnauthorized: true })
    for (const certificate of bad) {
      expect(await ask(lenient, certificate)).toBe('untrusted_certificate')
      await expect(ask(strict, certificate)).rejects.toThrow()
    }
    for (const port of [lenient, strict])
      expect(await ask(port, good)).toMatchObject({ name: `mesh:${spiffe}` })
  })

  it('refuses a certificate that expires during its connection', async () => {
    const port = await listen({ clientCertificates: mesh, now: () => Date.now() + 3 * 86_400_000 })
    expect(await ask(port, good)).toBe('expired_certificate')
  })

  it('refuses a certificate whose authority expires during a connection', async () => {
    const lasting = await own.issue('lasting', `URI:${spiffe}`, { days: 10 })
    const port = await listen({ clientCertificates: mesh, now: () => Date.now() + 3 * 86_400_000 })
    expect(await ask(port, lasting)).toBe('expired_certificate')
  })

  describe('an authority between the trusted one and the certificate', () => {
    let between: TestAuthority
    let withIssuer: TestCertificate
    let below: TestCertificate

    beforeAll(async () => {
      between = await makeAuthority(folder, 'between', { issuer: own, days: 1 })
      below = await between.issue('below', `URI:${spiffe}`, { days: 10 })
      withIssuer = { ...below, cert: below.cert + between.cert }
    })

    it('is checked if it is trusted, too', async () => {
      const tls = { ca: [own.cert, between.cert] }
      const loader = { name: `mesh:${spiffe}` }
      for (const client of [below, withIssuer]) {
        expect(await ask(await listen({ clientCertificates: mesh }, tls), client)).toMatchObject(loader)
        const later = await listen({ clientCertificates: mesh, now: inADay }, tls)
        expect(await ask(later, client)).toBe('expired_certificate')
      }
    })

    it('is checked if only the client has sent it, or the certificate is refused', async () => {
      const isShown = await showsSentIssuers(own, withIssuer)
      const [port, later] = [
        await listen({ clientCertificates: mesh }),
        await listen({ clientCertificates: mesh, now: inADay }),
      ]
      const hidden = 'unknown_certificate_issuer'
      expect(await ask(port, withIssuer)).toEqual(
        isShown ? expect.objectContaining({ name: `mesh:${spiffe}` }) : hidden,
      )
      expect(await ask(later, withIssuer)).toBe(isShown ? 'expired_certificate' : hidden)
    })
  })

  it('refuses a certificate on a resumed session, which is not verified again', async () => {
    const port = await listen({ clientCertificates: mesh }, { maxVersion: 'TLSv1.2' })
    const agent = new Agent({ maxCachedSessions: 1 })
    onTestFinished(() => agent.destroy())
    expect(await ask(port, good, {}, agent)).toMatchObject({ name: `mesh:${spiffe}` })
    expect(await ask(port, good, {}, agent)).toBe('resumed_tls_session')
  })

  it('agrees with an API key if the key is bound to its principal', async () => {
    const [file, pepper] = [join(folder, 'keys.yaml'), randomBytes(32)]
    const keyFor = async (subject?: string) =>
      (await createKey(file, pepper, { principal: 'loader', groups: [], ...(subject && { subject }) })).text
    const keys = [await keyFor(`mesh:${spiffe}`), await keyFor()]
    const port = await listen({ apiKeys: { file, pepper }, clientCertificates: mesh })
    const [bound, free] = await Promise.all(keys.map((key) => ask(port, good, { 'x-api-key': key })))
    expect(bound).toMatchObject({ name: `mesh:${spiffe}`, method: 'certificate' })
    expect(free).toBe('conflicting_credentials')
  })

  describe('together with a token', () => {
    const key = makeIssuerKey('ES256', 'one')
    const bearing = (claims: Record<string, unknown>) => ({
      authorization: `Bearer ${signed(key, claimsWith(claims))}`,
    })
    async function options(): Promise<AuthenticatorOptions> {
      const file = join(folder, 'jwks.json')
      await writeFile(file, JSON.stringify({ keys: [key.published] }))
      const issuer = { name: 'corp', issuer: 'https://corp.example', audience: 'catalog', jwks: { file } }
      return { issuers: [{ ...issuer, algorithms: ['ES256'] }], clientCertificates: mesh }
    }

    it('agrees if the token is bound to the certificate (RFC 8705)', async () => {
      const port = await listen(await options())
      expect(await ask(port, good, bearing(boundTo(good)))).toMatchObject({
        name: 'corp:alice',
        method: 'token',
      })
      expect(await ask(port, good, bearing({}))).toBe('conflicting_credentials')
    })

    it('refuses a bound token without its certificate, or with another', async () => {
      const other = await own.issue('other', 'URI:spiffe://cluster.example/other')
      const port = await listen(await options())
      expect(await ask(port, undefined, bearing(boundTo(good)))).toBe('unproven_binding')
      expect(await ask(port, other, bearing(boundTo(good)))).toBe('conflicting_credentials')
    })
  })
})
