import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, it } from 'vitest'
import type { AuthenticationError } from '../../../src/identity/authentication-error.ts'
import type { IdentityEvent } from '../../../src/identity/runtime.ts'
import { authenticateBearer, openAuthenticator, captureReason, captureError } from '../test-authenticator.ts'
import { makeSigningKey, signToken, startIssuer, startServer, type SigningKey } from './token-issuer.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const configuration = {
  name: 'corp',
  issuer: 'https://corp.example',
  audience: 'catalog',
  algorithms: ['RS256' as const],
}

async function issuer() {
  const started = await startIssuer()
  onTestFinished(() => started.stop())
  return started
}

/** Returns the refusal of a valid token if its JWKS is fetched with this response. */
async function refusalAfter(response: RequestListener, timeout = 5): Promise<AuthenticationError> {
  const server = await startServer(response)
  onTestFinished(() => server.stop())
  const authenticator = await openAuthenticator({
    issuers: [{ ...configuration, jwks: { url: server.url } }],
    jwksTiming: { timeout },
  })
  const token = await signToken(await makeSigningKey('first'))
  return captureError(authenticateBearer(authenticator, token))
}

it('concurrent tokens with a new key share one fetch, and are accepted', async () => {
  const rotating = await issuer()
  const authenticator = await openAuthenticator({ issuers: [rotating.configuration] })
  const second = await makeSigningKey('second')
  rotating.published = [rotating.key.publicKey, second.publicKey]
  const tokens = await Promise.all(
    Array.from({ length: 50 }, (_, index) => signToken(second, { jti: `${index}` })),
  )
  await Promise.all(tokens.map((token) => authenticateBearer(authenticator, token)))
  expect(rotating.requests()).toBe(2)
})

it('fetches an unknown key again after the cooldown', async () => {
  const rotating = await issuer()
  const authenticator = await openAuthenticator({
    issuers: [rotating.configuration],
    jwksTiming: { cooldown: 0.5 },
  })
  const second = await makeSigningKey('second')
  const token = await signToken(second)
  expect(await captureReason(authenticateBearer(authenticator, token))).toBe('unknown_kid')
  rotating.published = [second.publicKey]
  expect(await captureReason(authenticateBearer(authenticator, token))).toBe('unknown_kid')
  await eventually(() => authenticateBearer(authenticator, token))
  expect(rotating.requests()).toBe(3)
})

it('while the issuer is down, an unknown key is 503, and a known one is accepted', async () => {
  const down = await issuer()
  const authenticator = await openAuthenticator({ issuers: [down.configuration] })
  await down.stop()
  const unknown = await signToken(await makeSigningKey('second'))
  expect((await captureError(authenticateBearer(authenticator, unknown))).status).toBe(503)
  expect((await authenticateBearer(authenticator, await signToken(down.key))).name).toBe('corp:alice')
})

it('uses the last keys while the issuer is down, until they are too old', async () => {
  const down = await issuer()
  let ahead = 0
  const now = (): number => Date.now() + ahead
  const authenticator = await openAuthenticator({
    issuers: [down.configuration],
    now,
    jwksTiming: { cooldown: 0.02 },
  })
  const exp = Math.floor(Date.now() / 1000) + 30 * 3_600
  const [known, fresh] = [
    await signToken(down.key, { exp }),
    await signToken(down.key, { exp, jti: 'fresh' }),
  ]
  await authenticateBearer(authenticator, known)
  await down.stop()

  ahead = 23 * 3_600_000
  await authenticateBearer(authenticator, known)
  await authenticateBearer(authenticator, fresh)
  expect(authenticator.status().issuers[0]?.isUsable).toBe(true)

  ahead = 25 * 3_600_000
  for (const token of [known, fresh]) {
    const refused = await captureError(authenticateBearer(authenticator, token))
    expect(refused).toMatchObject({ status: 503, code: 17, reason: 'jwks_unavailable' })
    expect(refused.headers).toHaveProperty('retry-after')
  }
  expect(authenticator.status().issuers[0]?.isUsable).toBe(false)

  await down.start()
  await eventually(() => authenticateBearer(authenticator, known))
})

it('refuses tokens of a removed key, including cached ones', async () => {
  const rotating = await issuer()
  const authenticator = await openAuthenticator({
    issuers: [rotating.configuration],
    jwksTiming: { refresh: 0.05 },
  })
  const token = await signToken(rotating.key)
  await authenticateBearer(authenticator, token)
  rotating.published = [(await makeSigningKey('second')).publicKey]
  await eventually(async () =>
    expect(await captureReason(authenticateBearer(authenticator, token))).toBe('unknown_kid'),
  )
})

it('connects to an issuer that was down at startup', async () => {
  const late = await issuer()
  await late.stop()
  const events: IdentityEvent[] = []
  const authenticator = await openAuthenticator({
    issuers: [late.configuration],
    jwksTiming: { cooldown: 0.02 },
    report: (event) => events.push(event),
  })
  const token = await signToken(late.key)
  expect((await captureError(authenticateBearer(authenticator, token))).status).toBe(503)
  await late.start()
  await eventually(() => authenticateBearer(authenticator, token))
  expect(events[0]).toMatchObject({ source: 'corp', outcome: 'failed' })
  expect(events.at(-1)).toEqual({ source: 'corp', outcome: 'changed' })
})

it('fetches keys in the background; reordered keys change nothing', async () => {
  const refreshed = await issuer()
  const second = await makeSigningKey('second')
  refreshed.published = [refreshed.key.publicKey, second.publicKey]
  const events: IdentityEvent[] = []
  const authenticator = await openAuthenticator({
    issuers: [refreshed.configuration],
    jwksTiming: { refresh: 0.01 },
    report: (event) => events.push(event),
  })
  refreshed.published = refreshed.published.toReversed()
  const before = refreshed.requests()
  await eventually(() => expect(refreshed.requests()).toBeGreaterThan(before + 2))
  expect(events.filter(({ source }) => source === 'corp')).toHaveLength(1)
  expect(authenticator.status().issuers[0]).toMatchObject({
    keyCount: 2,
    isUsable: true,
    consecutiveFailures: 0,
  })
})

// Discovery documents and introspection responses are fetched by the same function.
it.each<[what: string, response: RequestListener, described: RegExp | string]>([
  ['too large', (_request, response) => response.end(`"${'x'.repeat(600_000)}"`), /larger than 524288 bytes/],
  [
    'endless',
    (_request, response) => setInterval(() => response.write(' '.repeat(60_000)), 1).unref(),
    /larger than/,
  ],
  ['no key set', (_request, response) => response.end('{"keys":{}}'), /./],
  [
    'cut off',
    (_request, response) => response.writeHead(200, { 'content-length': 99 }).end('{"keys":['),
    /./,
  ],
  [
    'redirected to another host',
    (_request, response) =>
      response.writeHead(302, { location: 'https://login.corp.example:8443/secret?token=1' }).end(),
    'Error: the response has status 302 to the host login.corp.example:8443; expected 200; redirects are not followed: configure the final URL',
  ],
  [
    'compressed',
    (_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"keys":[]}')),
    'Error: the response has content-encoding "gzip", although identity was requested',
  ],
  [
    'a login page',
    (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>secret</html>'),
    'Error: the response of 19 bytes with content-type "text/html" is not JSON',
  ],
  [
    'empty',
    (_request, response) => response.end(),
    'Error: the response of 0 bytes with content-type "none" is not JSON',
  ],
  [
    'refused',
    ({ headers }, response) =>
      response.writeHead(headers['accept-encoding'] === 'identity' ? 403 : 500).end('no'),
    'Error: the response has status 403; expected 200',
  ],
])('a key set that is %s is described in the log, not to the caller', async (_what, response, described) => {
  const { reason, message, cause } = await refusalAfter(response)
  expect(reason).toBe('jwks_unavailable')
  expect(message).not.toMatch(/127\.0\.0\.1|login|status/)
  expect(String(cause)).toEqual(typeof described === 'string' ? described : expect.stringMatching(described))
})

it('responds with 503 while the JWKS is missing', async () => {
  expect(await refusalAfter(() => undefined, 0.05)).toMatchObject({ status: 503, reason: 'jwks_unavailable' })
})

it('reloads a changed JWKS file, and ignores an invalid one', async () => {
  const file = join(await temporaryFolder(), 'keys.json')
  const publish = async (...keys: SigningKey[]): Promise<void> => {
    await writeFile(`${file}.next`, JSON.stringify({ keys: keys.map((key) => key.publicKey) }))
    await rename(`${file}.next`, file)
  }
  const [first, second] = [await makeSigningKey('first'), await makeSigningKey('second')]
  await publish(first)
  const authenticator = await openAuthenticator({ issuers: [{ ...configuration, jwks: { file } }] })
  const [old, fresh] = [await signToken(first), await signToken(second)]
  await authenticateBearer(authenticator, old)
  expect(await captureReason(authenticateBearer(authenticator, fresh))).toBe('unknown_kid')

  await publish(second)
  await eventually(() => authenticateBearer(authenticator, fresh))
  expect(await captureReason(authenticateBearer(authenticator, old))).toBe('unknown_kid')

  await writeFile(file, '{')
  await eventually(() => expect(authenticator.status().issuers[0]?.consecutiveFailures).toBeGreaterThan(0))
  await authenticateBearer(authenticator, fresh)
})

it('a missing file prevents the start', async () => {
  const jwks = { file: join(await temporaryFolder(), 'none.json') }
  await expect(openAuthenticator({ issuers: [{ ...configuration, jwks }] })).rejects.toThrow('ENOENT')
})
