import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { linesOf, servingGateway } from '../serving-gateway.ts'

const stack = 'no such column\n\tat org.lance.Catalog.drop(/srv/lance/Catalog.java:10)'

it('the request line contains the upstream error, whatever the caller receives', async () => {
  const gateway = await servingGateway({})
  const say = (status: number, body: object | string): void => {
    gateway.upstream.answering = respondWith(status, body)
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
  gateway.upstream.answering = respondWith(200, {})
  await gateway.post('/v1/table/t/describe')
  const lines = linesOf(await gateway.stop()).filter(({ msg }) => msg === 'request completed')
  expect(lines).toMatchObject([
    { status: 400, error: 'no such column', cause: expect.stringContaining('org.lance.Catalog.drop(/srv') },
    { status: 500, cause: 'the upstream returned status 500: panic: disk failure at /srv/data' },
    {
      status: 500,
      cause: 'the upstream returned status 500: panic: disk failure at /srv/data',
      stage: 'forward',
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
    gateway.upstream.answering = respondWith(500, text)
    await gateway.post('/v1/table/t/describe')
    gateway.upstream.answering = respondWith(400, { error: text, code: 13 })
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
