import fastify from 'fastify'
import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { createHttp2Client } from '../support/http2-client.ts'
import { createTestResponse } from '../support/test-response.ts'
import { Pool } from 'undici'
import { startApplication, type EmbeddedApplication } from './embedded-application.ts'

// The application authenticates by a cookie, which browsers add to the requests of other sites.

const authenticate = ({ headers }: { headers: { cookie?: string | undefined } }) =>
  headers.cookie === 'sid=alice' ? { name: 'alice' } : undefined
const target = '/catalog/v1/table/t/describe'
const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }

async function post(
  { url }: EmbeddedApplication,
  connect: (url: string) => Pick<Pool, 'request' | 'destroy'> | ReturnType<typeof createHttp2Client>,
  headers: Record<string, string>,
) {
  const client = connect(url)
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

it.each([
  ['HTTP/1.1', () => fastify(), (url: string) => new Pool(url)],
  ['HTTP/2', () => fastify({ http2: true }), createHttp2Client],
] as const)('over %s, a page of another site does not act with a cookie', async (_label, create, connect) => {
  const application = await startApplication({
    // The type of an application depends on its protocol.
    app: create() as unknown as ReturnType<typeof fastify>,
    authenticate,
    settings: { crossSite: { allowedOrigins: ['https://console.example'] } },
  })
  const json = { 'content-type': 'application/json' }
  const refused = { kind: 'PermissionDenied', says: 'a page of "https://evil.example" sent this' } as const
  expectError(await post(application, connect, evil), refused)
  expectError(await post(application, connect, { ...evil, ...json }), refused)
  const untyped = { kind: 'InvalidInput', says: 'no content-type' } as const
  expectError(await post(application, connect, { origin: application.url }), untyped)
  expect(application.upstream.requests).toEqual([])
  for (const headers of [
    json,
    { ...json, origin: application.url, 'sec-fetch-site': 'same-origin' },
    { ...json, origin: 'https://console.example', 'sec-fetch-site': 'cross-site' },
    // A proxy that terminates TLS.
    { ...json, origin: application.url.replace('http:', 'https:') },
  ])
    expect(await post(application, connect, headers)).toMatchObject({ status: 200 })
})
