import { gzipSync } from 'node:zlib'
import type { RequestListener } from 'node:http'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { introspectionSchema } from '../../src/config/token-issuer-settings.ts'
import { authenticateBearer, captureError, openAuthenticator } from './test-authenticator.ts'
import { claimsWith, makeIssuerKey, signed } from './jwt/forged-tokens.ts'
import { startServer } from './jwt/token-issuer.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function startUrl(response: RequestListener): Promise<string> {
  const server = await startServer(response)
  onTestFinished(() => server.stop())
  return server.url
}

/** Each returns the cause of the refusal of a token if a document is fetched from this server. */
const fetchers = {
  async jwks(url: string) {
    return await refuse(url, 'https://corp.example', { url })
  },
  async discovery(url: string) {
    return await refuse(url, url, {})
  },
  async introspection(url: string) {
    const clientSecretFile = join(await temporaryFolder(), 'secret')
    await writeFile(clientSecretFile, 'secret')
    const settings = {
      name: 'corp',
      issuer: 'https://corp.example',
      audience: 'catalog',
      url,
      clientId: 'gateway',
    }
    const introspection = introspectionSchema.parse({ ...settings, clientSecretFile })
    const authenticator = await openAuthenticator({ introspection })
    return String((await captureError(authenticateBearer(authenticator, 'opaque'))).cause)
  },
}

async function refuse(url: string, issuer: string, jwks: { url?: string }): Promise<string> {
  const authenticator = await openAuthenticator({
    issuers: [{ name: 'corp', issuer, audience: 'catalog', algorithms: ['ES256'], jwks }],
  })
  const token = signed(makeIssuerKey('ES256', 'one'), claimsWith({ iss: issuer }))
  const error = await captureError(authenticateBearer(authenticator, token))
  expect(error.message).not.toContain(url)
  return String(error.cause)
}

const responses: readonly (readonly [string, RequestListener, string])[] = [
  [
    'redirected to another host',
    (_request, response) =>
      response.writeHead(302, { location: 'https://login.corp.example:8443/secret?token=1' }).end(),
    'the response has status 302 to the host login.corp.example:8443; expected 200; redirects are not followed: configure the final URL',
  ],
  [
    'compressed',
    (_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"keys":[]}')),
    'the response has content-encoding "gzip", although identity was requested',
  ],
  [
    'a login page',
    (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>secret</html>'),
    'the response of 19 bytes with content-type "text/html" is not JSON',
  ],
  [
    'empty',
    (_request, response) => response.end(),
    'the response of 0 bytes with content-type "none" is not JSON',
  ],
  [
    'refused',
    (_request, response) => response.writeHead(403).end('no'),
    'the response has status 403; expected 200',
  ],
]

const names = ['jwks', 'discovery', 'introspection'] as const

it.each(names.flatMap((name) => responses.map((each) => [name, ...each] as const)))(
  '%s: a response that is %s is described in the log, not to the caller',
  async (name, _what, response, described) => {
    expect(await fetchers[name](await startUrl(response))).toBe(`Error: ${described}`)
  },
)

it.each(names)('%s: asks for a response that is not compressed', async (name) => {
  const encodings: unknown[] = []
  await fetchers[name](
    await startUrl(({ headers }, response) => {
      encodings.push(headers['accept-encoding'])
      response.writeHead(500).end()
    }),
  )
  expect(new Set(encodings)).toEqual(new Set(['identity']))
})
