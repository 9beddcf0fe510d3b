import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { createTestResponse } from '../support/test-response.ts'
import { Pool } from 'undici'
import { startApplication, type EmbeddedApplication } from './embedded-application.ts'

// The application authenticates by a cookie, which browsers add to the requests of other sites.

const authenticate = ({ headers }: { headers: { cookie?: string | undefined } }) =>
  headers.cookie === 'sid=alice' ? { name: 'alice' } : undefined
const target = '/catalog/v1/table/t/describe'
const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }

async function post({ url }: EmbeddedApplication, headers: Record<string, string>) {
  const client = new Pool(url)
  const {
    statusCode,
    headers: received,
    body,
  } = await client.request({
    method: 'POST',
    path: target,
    headers: { cookie: 'sid=alice', ...headers },
    body: '{}',
  })
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  await client.destroy()
  return createTestResponse(statusCode, received, Buffer.concat(chunks))
}

it('a page of another site does not act with a cookie', async () => {
  const application = await startApplication({
    authenticate,
    settings: { crossSite: { allowedOrigins: ['https://console.example'] } },
  })
  const json = { 'content-type': 'application/json' }
  const refused = { kind: 'PermissionDenied', says: 'a page of "https://evil.example" sent this' } as const
  expectError(await post(application, evil), refused)
  expectError(await post(application, { ...evil, ...json }), refused)
  const untyped = { kind: 'InvalidInput', says: 'no content-type' } as const
  expectError(await post(application, { origin: application.url }), untyped)
  expect(application.upstream.requests).toEqual([])
  for (const headers of [
    json,
    { ...json, origin: application.url, 'sec-fetch-site': 'same-origin' },
    { ...json, origin: 'https://console.example', 'sec-fetch-site': 'cross-site' },
    // A proxy that terminates TLS.
    { ...json, origin: application.url.replace('http:', 'https:') },
  ])
    expect(await post(application, headers)).toMatchObject({ status: 200 })
})
