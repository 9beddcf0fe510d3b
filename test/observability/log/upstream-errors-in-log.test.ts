import { expect, it, onTestFinished } from 'vitest'
import {
  respondWith,
  startRecordingUpstream,
  type RecordingUpstream,
} from '../../gateway/support/recording-upstream.ts'
import { linesOf, servingGateway } from '../serving-gateway.ts'

const stack = 'no such column\n\tat org.lance.Catalog.drop(/srv/lance/Catalog.java:10)'

it('the request line contains the upstream error, whatever the caller receives', async () => {
  const gateway = await servingGateway({})
  const say = (status: number, body: object | string): void => {
    gateway.upstream.handler = respondWith(status, body)
  }
  say(400, { error: stack, code: 13 })
  await gateway.post('/v1/table/t/describe')
  say(500, 'panic: disk failure at /srv/data')
  await gateway.post('/v1/table/t/drop')
  await fetch(`${gateway.url}/v1/namespace/$/list`, { headers: { 'x-api-key': gateway.key('dev') } })
  say(500, 'x'.repeat(60_000))
  await gateway.post('/v1/table/t/describe')
  say(404, '')
  await gateway.post('/v1/table/t/describe')
  gateway.upstream.handler = respondWith(200, {})
  await gateway.post('/v1/table/t/describe')
  const lines = linesOf(await gateway.stop()).filter(({ msg }) => msg === 'request completed')
  expect(lines).toMatchObject([
    { status: 400, error: 'no such column', cause: expect.stringContaining('org.lance.Catalog.drop(/srv') },
    { status: 424, cause: 'the upstream returned status 500: panic: disk failure at /srv/data' },
    {
      status: 500,
      cause: 'the upstream returned status 500: panic: disk failure at /srv/data',
      stage: 'send',
    },
    { status: 500, cause: expect.stringMatching(/^the upstream returned status 500: x{1000,2000}/) },
    { status: 404, cause: 'the upstream returned status 404' },
    { status: 200 },
  ])
  expect(lines.map(({ cause }) => typeof cause)).toEqual([...Array<string>(5).fill('string'), 'undefined'])
})

it('credentials are removed from the upstream error', async () => {
  const gateway = await servingGateway({}, {}, { credential: { value: 'Bearer of-the-gateway' } })
  const said = [
    'of-the-gateway was not accepted',
    'postgres://user:hidden-password@db/x',
    'authorization: Bearer hidden-token',
    'https://bucket/t?X-Amz-Signature=hidden-signature&X-Amz-Security-Token=hidden-session',
    '{"aws_secret_access_key": "hidden-key", "apiKey":"hidden-api-key"}',
    "password = 'hidden with spaces'",
    'key AKIAABCDEFGHIJKLMNOP',
    'eyJhbGciOiJub25lIn0.eyJzdWIiOiJoaWRkZW4ifQ.c2lnbmF0dXJl',
    '-----BEGIN PRIVATE KEY-----\nhidden\n-----END PRIVATE KEY-----',
  ]
  for (const text of said) {
    gateway.upstream.handler = respondWith(500, text)
    await gateway.post('/v1/table/t/describe')
    gateway.upstream.handler = respondWith(400, { error: text, code: 13 })
    await gateway.post('/v1/table/t/describe')
  }
  const log = await gateway.stop()
  const causes = linesOf(log)
    .filter(({ msg }) => msg === 'request completed')
    .map(({ cause }) => String(cause))
  expect(causes).toHaveLength(said.length * 2)
  for (const cause of causes) expect(cause).toContain('[redacted]')
  expect(log).not.toMatch(/hidden|of-the-gateway|AKIA|eyJ/)
})

it('a listing without the tables of an upstream is logged with the upstream error, at most once a second', async () => {
  const lost = { name: 'lost', url: 'http://127.0.0.1:9', namespaces: [['old']] }
  const gateway = await servingGateway({
    upstream: undefined,
    upstreams: [{ name: 'rest', url: (await startCatalog()).url }, lost],
  })
  const list = async (): Promise<void> => {
    const response = await fetch(`${gateway.url}/v1/table`, { headers: { 'x-api-key': gateway.key('dev') } })
    expect([response.status, await response.json()]).toEqual([200, { tables: ['t'] }])
  }
  // Together, so that they take less than 10 s even on a slow machine.
  await Promise.all(Array.from({ length: 30 }, list))
  const lines = linesOf(await gateway.stop()).filter(({ msg }) => msg === 'incomplete listing')
  expect(lines.length).toBeLessThan(10)
  expect(lines[0]).toMatchObject({
    level: 40,
    upstream: 'lost',
    reason: expect.stringMatching(/^(upstream_unreachable|circuit_open)$/),
    requestId: expect.stringMatching(/./),
  })
})

it('a name that is left out of a listing is logged in quotes, at most once a second', async () => {
  const gateway = await servingGateway({})
  const names = ["o'brien\n{}", ...Array.from({ length: 1_000 }, (_, index) => `100%${index}`), 't']
  gateway.upstream.handler = respondWith(200, { tables: names })
  const listing = `${gateway.url}/v1/namespace/$/table/list`
  const response = await fetch(listing, { headers: { 'x-api-key': gateway.key('dev') } })
  expect(await response.json()).toEqual({ tables: ['t'] })
  const lines = linesOf(await gateway.stop()).filter(({ msg }) => msg === 'name left out of a listing')
  expect(lines.length).toBeLessThan(10)
  expect(lines[0]).toMatchObject({
    level: 40,
    upstream: 'catalog',
    reason: String.raw`a part of the id, "o'brien\n{}", contains "'", which is not allowed in a name`,
  })
})

async function startCatalog(): Promise<RecordingUpstream> {
  const catalog = await startRecordingUpstream()
  onTestFinished(() => catalog.close())
  catalog.handler = respondWith(200, { tables: ['t'] })
  return catalog
}
