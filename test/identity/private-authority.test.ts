import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { pino } from 'pino'
import { introspectionSchema, type TokenIssuerInput } from '../../src/config/token-issuer-settings.ts'
import { createFileFollower } from '../../src/lib/fs/follow-files.ts'
import { openOutbound, type OutboundSettings } from '../../src/outbound/outbound.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { goodClaims, makeSigningKey, signToken, type SigningKey } from './jwt/token-issuer.ts'
import { hasOpenssl, makeAuthority, type TestAuthority } from './mtls/test-certificates.ts'
import { authenticateBearer, captureReason, openAuthenticator } from './test-authenticator.ts'
import { sharedFolder } from '../support/temporary-folder.ts'

const host = 'https://login.example'
const issuer: TokenIssuerInput = {
  name: 'corp',
  issuer: `${host}/realms/corp`,
  audience: 'catalog',
  algorithms: ['RS256'],
}

const jwksTiming = { cooldown: 0.01 }

describe.skipIf(!hasOpenssl())('an issuer with a private authority (skipped without openssl)', () => {
  const folder = sharedFolder()
  let key: SigningKey
  let company: TestAuthority
  let foreign: TestAuthority
  let port = 0
  const server = createServer()

  beforeAll(async () => {
    key = await makeSigningKey('first')
    company = await makeAuthority(folder, 'company')
    foreign = await makeAuthority(folder, 'foreign')
    server.setSecureContext(await company.issue('login', 'DNS:login.example, IP:127.0.0.1'))
    server.on('request', serveDocuments)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    ;({ port } = server.address() as AddressInfo)
  })
  afterAll(async () => {
    server.closeAllConnections()
    await once(server.close(), 'close')
  })

  const serveDocuments: RequestListener = ({ url }, response) => {
    const documents: Record<string, unknown> = {
      '/realms/corp/.well-known/openid-configuration': { issuer: issuer.issuer, jwks_uri: `${host}/keys` },
      '/keys': { keys: [key.publicKey] },
      '/introspect': { active: true, ...goodClaims({ iss: issuer.issuer }) },
    }
    response.end(JSON.stringify(documents[url ?? ''] ?? {}))
  }

  /** A proxy that knows where the issuer is, and an authenticator that uses it. */
  async function openThroughProxy(
    identity: Parameters<typeof openAuthenticator>[0],
    settings: OutboundSettings = {},
  ) {
    const proxy = await startConnectProxy({ hosts: { 'login.example:443': port } })
    const files = createFileFollower(pino({ level: 'silent' }))
    onTestFinished(() => files.close())
    const outbound = await openOutbound(settings, { HTTPS_PROXY: proxy.url }, files.follow)
    return { proxy, authenticator: await openAuthenticator({ ...identity, outbound, jwksTiming }) }
  }

  const token = (): Promise<string> => signToken(key, { iss: issuer.issuer })

  it('is trusted with a caFile of its own, for its metadata and its keys', async () => {
    const issuers = [{ ...issuer, caFile: company.certFile }]
    const { authenticator, proxy } = await openThroughProxy({ issuers })
    expect((await authenticateBearer(authenticator, await token())).name).toBe('corp:alice')
    expect(new Set(proxy.requested)).toEqual(new Set(['login.example:443']))
  })

  it.each([
    ['no authority', false],
    ['another one, although that of all connections would do', true],
  ])('is not trusted with %s', async (_which, isOther) => {
    const issuers = [{ ...issuer, ...(isOther && { caFile: foreign.certFile }) }]
    const outbound = isOther ? { caFile: company.certFile } : {}
    const { authenticator } = await openThroughProxy({ issuers }, outbound)
    expect(await captureReason(authenticateBearer(authenticator, await token()))).toBe('jwks_unavailable')
  })

  it('introspects tokens', async () => {
    const clientSecretFile = join(folder, 'secret')
    await writeFile(clientSecretFile, 'secret')
    const introspection = introspectionSchema.parse({
      name: 'corp',
      url: `${host}/introspect`,
      issuer: issuer.issuer,
      audience: 'catalog',
      clientId: 'gateway',
      clientSecretFile,
      caFile: company.certFile,
    })
    const { authenticator, proxy } = await openThroughProxy({ introspection })
    expect((await authenticateBearer(authenticator, 'opaque')).name).toBe('corp:alice')
    expect(proxy.requested).toEqual(['login.example:443'])
  })
})
