import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { allowEverything, openGateway, type TestedGateway } from '../gateway/support/open-gateway.ts'
import { serveListings } from '../gateway/support/listing-upstream.ts'
import { startRecordingUpstream, type RecordingUpstream } from '../gateway/support/recording-upstream.ts'

const rootNames = Array.from({ length: 250 }, (_, index) => `team${String(index).padStart(3, '0')}`)

let gateway: TestedGateway
let upstream: RecordingUpstream

beforeAll(async () => {
  upstream = await startRecordingUpstream()
  upstream.answering = serveListings({ namespaces: { '': rootNames, team001: ['open', 'secret'] } })
  gateway = await openGateway(upstream.url, {
    users: ['alice', 'office'],
    policies: [
      allowEverything,
      {
        name: 'open',
        namespace: ['team001', 'open'],
        rules: [{ id: 'alice', effect: 'allow', subjects: { users: ['alice'] }, operations: ['read'] }],
      },
      ...['client.address == "127.0.0.1"', 'client.address != "192.0.2.7"'].map((when, index) => ({
        name: `office${index}`,
        namespace: [`team00${index + 2}`],
        rules: [
          {
            id: 'office',
            effect: 'allow' as const,
            subjects: { users: ['office'] },
            operations: ['read' as const],
            when,
          },
        ],
      })),
    ],
    adjust: (settings) => ({ ...settings, admin: { ...settings.admin, console: true } }),
  })
})

afterAll(async () => {
  await gateway.close()
  await upstream.close()
})

async function list(query: string, headers: Record<string, string> = {}) {
  const { statusCode, body } = await request(`${gateway.adminUrl}/console/catalog?${query}`, { headers })
  return { status: statusCode, body: await body.json() }
}

const asUser = (user: string) => ({ 'x-api-key': gateway.key(user) })

it('a viewer gets the page that the main port would send', async () => {
  const first = await list('id=/', asUser('dev'))
  expect(first).toEqual({
    status: 200,
    body: { namespaces: rootNames.slice(0, 200), page_token: expect.any(String) },
  })
  const { page_token: token } = first.body as { page_token: string }
  const second = await list(`id=/&page_token=${encodeURIComponent(token)}`, asUser('dev'))
  expect(second).toEqual({ status: 200, body: { namespaces: rootNames.slice(200) } })
  expect(await list(`id=/&page_token=${encodeURIComponent(token)}`, asUser('alice'))).toMatchObject({
    status: 400,
  })
})

it('a viewer gets only the names that he may see', async () => {
  expect(await list('id=/', asUser('alice'))).toMatchObject({ body: { namespaces: ['team001'] } })
  expect(await list('id=team001', asUser('alice'))).toMatchObject({ body: { namespaces: ['open'] } })
  const refused = await gateway.get('/v1/namespace/team002/list', { as: 'alice' })
  expect(await list('id=team002', asUser('alice'))).toMatchObject({ status: refused.status })
  expect(refused.status).toBe(403)
})

it.for([
  ['no credential', {}],
  ['an unknown key', { 'x-api-key': 'cgk_unknown' }],
  ['an unknown token', { authorization: 'Bearer unknown' }],
  ['two keys', { 'x-api-key': 'one, two' }],
])('with %s nothing is listed', async ([, headers]) => {
  const { status, body } = await list('id=/', headers as Record<string, string>)
  expect(status).toBe(401)
  expect(body).toMatchObject({ error: expect.any(String), code: expect.any(Number) })
})

it('no condition on the address of the client holds for the console', async () => {
  const { json } = await gateway.get('/v1/namespace/$/list', { as: 'office' })
  expect(json).toMatchObject({ namespaces: ['team002', 'team003'] })
  const { status, body } = await list('id=/', asUser('office'))
  expect({ status, text: JSON.stringify(body) }).toEqual({
    status: 403,
    text: expect.not.stringContaining('team'),
  })
})

it('a request of the console has only the parts of a listing', async () => {
  const { length } = upstream.requests
  const query = 'id=/&kind=table&limit=1&delimiter=.&page_token=team248'
  const { status, body } = await list(query, { ...asUser('dev'), 'x-catalog-ctx-tenant': 'other' })
  expect({ status, body }).toEqual({ status: 200, body: { namespaces: ['team249'] } })
  const [sent] = upstream.requests.slice(length)
  expect(sent?.target).toMatch(/^\/v1\/namespace\/%24\/list\?/)
  expect(JSON.stringify(sent)).not.toContain('tenant')
})
