import { expect, onTestFinished, it } from 'vitest'
import { errorCodes, type ErrorName } from '../../../catalog-api/catalog-error.ts'
import {
  respondWith,
  startRecordingUpstream,
  type RequestHandler,
} from '../../../../test/gateway/support/recording-upstream.ts'
import { freePort } from '../../../../test/support/free-port.ts'
import { responseOf, errorOf } from '../support/running-backend.ts'
import { runningAdapter } from './running-adapter.ts'

async function remoteAndAdapter(remote: object = {}) {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  return { upstream, ...(await runningAdapter(upstream.url, remote)) }
}

const html = { 'content-type': 'text/html' }
const json = { 'content-type': 'application/json' }
const describe = '/v1/table/t/describe'

it('keeps code, status and message of every error of the interface', async () => {
  const { upstream, post } = await remoteAndAdapter()
  for (const [name, { code, status }] of Object.entries(errorCodes)) {
    const body = { error: `it is ${name}`, code, detail: 'a stack', instance: 'theirs', type: 'x' }
    upstream.answering = respondWith(status, body)
    const response = await post(describe, {}, { 'x-request-id': 'ours' })
    expect(response).toEqual(errorOf(name as ErrorName))
    const error = name === 'Internal' ? 'the remote catalog returned status 500' : `it is ${name}`
    expect(response.json).toEqual({ error, code, instance: 'ours' })
  }
})

it('an operation that the remote catalog lacks is unsupported, not a failure', async () => {
  const { upstream, post } = await remoteAndAdapter()
  for (const [status, body] of [
    [501, ''],
    [501, { error: 'a stack', code: 18 }],
    [500, { error: 'a stack', code: 0 }],
  ] as const) {
    upstream.answering = respondWith(status, body)
    const response = await post(describe, {})
    expect(response).toEqual(errorOf('Unsupported'))
    expect(response.json).toMatchObject({ error: 'the remote catalog does not have this operation' })
  }
})

it('converts a foreign error without showing its content', async () => {
  const { upstream, post } = await remoteAndAdapter()
  const foreign: [status: number, body: object | string, expected: ErrorName][] = [
    [502, '<html>bad gateway of 10.0.0.7</html>', 'ServiceUnavailable'],
    [503, '', 'ServiceUnavailable'],
    [504, '{"code":', 'ServiceUnavailable'],
    [500, { error: { message: 'panic at /srv/x' } }, 'Internal'],
    [500, [], 'Internal'],
    [599, 'null', 'Internal'],
    [400, { error: 'no code at /srv/x' }, 'InvalidInput'],
    [404, 'not found: 10.0.0.7', 'Unsupported'],
    [405, '', 'Unsupported'],
    [413, 'length limit', 'InvalidInput'],
    [422, { error: 'shape', code: 99 }, 'InvalidInput'],
    [422, { error: 'shape', code: '13' }, 'InvalidInput'],
    [429, 'slow down', 'Throttling'],
    [400, `{"code":4,"error":"${'x'.repeat(70_000)}"}`, 'InvalidInput'],
  ]
  for (const [status, body, kind] of foreign) {
    upstream.answering = respondWith(status, body, html)
    const response = await post(describe, {})
    expect(response, `${status} ${JSON.stringify(body).slice(0, 60)}`).toEqual(errorOf(kind, status))
    expect(response.json).toMatchObject({ error: `the remote catalog returned status ${status}` })
  }
})

it('forwards retry-after and www-authenticate', async () => {
  const { upstream, post } = await remoteAndAdapter()
  upstream.answering = respondWith(429, { code: 21, error: 'slow' }, { ...json, 'retry-after': '7' })
  expect((await post(describe, {})).headers.get('retry-after')).toBe('7')
  upstream.answering = respondWith(
    401,
    { code: 16, error: 'who?' },
    { ...json, 'www-authenticate': 'Bearer' },
  )
  const unknown = await post(describe, {})
  expect(unknown).toEqual(errorOf('Unauthenticated'))
  expect(unknown.headers.get('www-authenticate')).toBe('Bearer')
})

it('does not blame the caller for a rejected own credential', async () => {
  const { upstream, post } = await remoteAndAdapter({ credential: { value: 'Bearer wrong' } })
  upstream.answering = respondWith(401, { code: 16, error: 'the token wrong is unknown' })
  const response = await post(describe, {})
  expect(response).toEqual(errorOf('ServiceUnavailable', 502))
  expect(JSON.stringify(response.json)).not.toContain('wrong')
})

it('rejects an unknown success', async () => {
  const { upstream, post } = await remoteAndAdapter()
  const strange: [target: string, RequestHandler][] = [
    [describe, respondWith(302, '', { location: 'http://127.0.0.1:9/' })],
    [describe, respondWith(200, '<html>', html)],
    [describe, respondWith(200, '[]')],
    [describe, respondWith(200, '7')],
    [describe, respondWith(200, '{"properties":{', json)],
    [describe, respondWith(200, 'x', { ...json, 'content-encoding': 'gzip' })],
    ['/v1/table/t/count_rows', respondWith(200, '"7"')],
    ['/v1/table/t/count_rows', respondWith(200, '')],
    ['/v1/table/t/query', respondWith(200, {})],
    ['/v1/table/t/query', respondWith(200, 'x', { 'content-type': 'application/vnd.apache.arrow.stream' })],
  ]
  for (const [target, answering] of strange) {
    upstream.answering = answering
    expect(await post(target, { k: 1, vector: [] }), target).toEqual(errorOf('ServiceUnavailable', 502))
  }
})

it('accepts known deviations of other servers', async () => {
  const { upstream, post } = await remoteAndAdapter()
  const plan = '/v1/table/t/explain_plan'
  const query = { query: { k: 1, vector: [] } }
  upstream.answering = respondWith(200, { count: 7 })
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(7))
  upstream.answering = respondWith(200, 'a plan', { 'content-type': 'text/plain; charset=utf-8' })
  expect(await post(plan, query)).toEqual(responseOf('a plan'))
  upstream.answering = respondWith(201, { properties: {}, version: 1, location: 'l' })
  expect(await post('/v1/table/t/create', new Uint8Array(1))).toEqual(
    responseOf({ properties: {}, version: 1, location: 'l' }),
  )
  upstream.answering = (_arrival, response) => void response.writeHead(204).end()
  expect(await post('/v1/table/t/exists', {})).toMatchObject({ status: 200, json: undefined })
  expect(await post('/v1/namespace/n/drop', {})).toEqual(responseOf({}))
})

it('maps unreachable and broken to 502, slow to 504', async () => {
  const nobody = await runningAdapter(`http://127.0.0.1:${await freePort()}`)
  expect(await nobody.post(describe, {})).toEqual(errorOf('ServiceUnavailable', 502))
  expect(await nobody.get('/readyz')).toMatchObject({ status: 502 })

  const broken = await remoteAndAdapter()
  broken.upstream.answering = (_arrival, _response, request) => request.destroy()
  expect(await broken.post(describe, {})).toEqual(errorOf('ServiceUnavailable', 502))
  expect(await broken.post('/v1/table/t/declare', {})).toEqual(errorOf('ServiceUnavailable', 502))

  const slow = await remoteAndAdapter({
    timeouts: { responseHeadersTimeoutMs: 100, responseBodyTimeoutMs: 100 },
  })
  slow.upstream.answering = () => {}
  expect(await slow.post(describe, {})).toEqual(errorOf('ServiceUnavailable', 504))
  slow.upstream.answering = (_arrival, response) => void response.writeHead(200, json).write('{')
  expect(await slow.post(describe, {})).toEqual(errorOf('ServiceUnavailable', 504))
})

it('retries a read on a closed connection, never a change', async () => {
  const { upstream, post } = await remoteAndAdapter()
  const cutOnce: RequestHandler = (arrival, response, request) => {
    upstream.answering = respondWith(200, { location: 'l', properties: {}, managed_versioning: true })
    if (upstream.requests.length === 1) request.destroy()
    else void upstream.answering(arrival, response, request)
  }
  for (const [target, arrivals, status] of [
    ['/v1/table/t/tags/version', 2, 200],
    ['/v1/table/t/declare', 1, 502],
  ] as const) {
    upstream.requests.length = 0
    upstream.answering = cutOnce
    const { json } = await post(target, { tag: 'a' }).catch(() => ({ json: undefined }))
    expect([target, upstream.requests.length]).toEqual([target, arrivals])
    if (status !== 200) expect(json).toMatchObject({ code: 17 })
  }
})

it('derives readiness from the remote catalog', async () => {
  const { upstream, url } = await remoteAndAdapter()
  const ready = async () => (await fetch(`${url}/readyz`)).status
  upstream.answering = respondWith(401, {})
  expect(await ready()).toBe(200)
  upstream.answering = respondWith(503, '')
  expect(await ready()).toBe(503)
  expect((await fetch(`${url}/livez`)).status).toBe(200)
})
