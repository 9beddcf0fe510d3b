import { createPublicKey, KeyObject } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import { generateKeyPair, SignJWT, type JWK, type JWTPayload } from 'jose'
import type { TokenIssuerInput } from '../../../src/config/token-issuer-settings.ts'
import { freePort } from '../../support/free-port.ts'
import { takeRsaKey } from './rsa-keys.ts'

export interface SigningKey {
  readonly kid: string
  readonly algorithm: string
  readonly privateKey: KeyObject
  readonly publicKey: JWK
}

export async function makeSigningKey(kid: string, algorithm = 'RS256'): Promise<SigningKey> {
  const isRsa = /^[RP]S/.test(algorithm)
  const privateKey = isRsa
    ? takeRsaKey()
    : KeyObject.from((await generateKeyPair(algorithm, { extractable: true })).privateKey)
  const publicKey = createPublicKey(privateKey).export({ format: 'jwk' }) as JWK
  return { kid, algorithm, privateKey, publicKey: { ...publicKey, kid, use: 'sig' } }
}

export interface CountingServer {
  readonly url: string
  readonly requests: () => number
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startServer(handler: RequestListener): Promise<CountingServer> {
  let requests = 0
  let server: Server
  // Not one that the system assigns to another process between `stop` and `start`.
  const port = await freePort()
  async function start(): Promise<void> {
    server = createServer((request, response) => {
      requests++
      handler(request, response)
    })
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  }
  async function stop(): Promise<void> {
    if (!server.listening) return
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  await start()
  return { url: `http://127.0.0.1:${port}`, requests: () => requests, start, stop }
}

/** An issuer that publishes keys and signs any content. */
export interface TestIssuer extends CountingServer {
  readonly configuration: TokenIssuerInput
  /** Published keys; replace them to rotate keys. */
  published: JWK[]
  readonly key: SigningKey
}

export async function startIssuer(changes: Partial<TokenIssuerInput> = {}): Promise<TestIssuer> {
  const key = await makeSigningKey('first')
  const published = [key.publicKey]
  const server = await startServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: issuer.published }))
  })
  const configuration: TokenIssuerInput = {
    name: 'corp',
    issuer: 'https://corp.example',
    audience: 'catalog',
    algorithms: ['RS256', 'ES256'],
    jwks: { url: server.url },
    ...changes,
  }
  const issuer: TestIssuer = { ...server, configuration, published, key }
  return issuer
}

/** Claims of a valid token with overrides; undefined omits a claim. */
export function goodClaims(changes: Record<string, unknown> = {}): JWTPayload {
  const claims = {
    iss: 'https://corp.example',
    aud: 'catalog',
    sub: 'alice',
    iat: Math.floor(Date.now() / 1000),
    exp: Math.floor(Date.now() / 1000) + 3600,
    ...changes,
  }
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
}

export async function signToken(
  key: SigningKey,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  return await new SignJWT(goodClaims(claims))
    .setProtectedHeader({ alg: key.algorithm, kid: key.kid, ...header })
    .sign(key.privateKey)
}
