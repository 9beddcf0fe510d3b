import { onTestFinished, expect, it } from 'vitest'
import { request } from 'undici'
import { arrowFileType, arrowStreamType } from '../../../catalog-api/headers.ts'
import { getOperation, operationNames, type Operation } from '../../../catalog-api/operations.ts'
import { sampleRequests } from '../../../../test/conformance/sample-requests.ts'
import {
  respondWith,
  startRecordingUpstream,
  getHeaderValues,
  type RequestHandler,
  type ReceivedRequest,
} from '../../../../test/gateway/support/recording-upstream.ts'
import { runningAdapter } from './running-adapter.ts'

const samples: typeof sampleRequests = {
  ...sampleRequests,
  BatchCreateTableVersions: {
    body: { entries: [{ id: ['n', 't'], version: 2, manifest_path: 'p', context: { a: 'b' } }] },
  },
  BatchCommitTables: { body: { operations: [{ deregister_table: { id: ['n', 't'] } }] } },
}

/** The minimal response of a remote catalog to an operation. */
function answeringOf({ name, response }: Operation): RequestHandler {
  if (response === 'arrow') return respondWith(200, 'ARROW1', { 'content-type': arrowFileType })
  if (response === 'arrow-stream') return respondWith(200, 'stream', { 'content-type': arrowStreamType })
  if (response === 'empty') return respondWith(200, '', {})
  return respondWith(200, name === 'CountTableRows' ? '7' : name.endsWith('QueryPlan') ? '"plan"' : '{}')
}

/** Starts a remote catalog that records requests, and a server in front of it. */
async function remoteAndAdapter(remote: object = {}, settings: object = {}) {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const adapter = await runningAdapter(`${upstream.url}/base/`, remote, settings)
  const send = async (
    method: 'GET' | 'HEAD' | 'POST',
    target: string,
    body?: object,
    headers: Record<string, string> = {},
  ) => {
    const response = await request(adapter.url + target, {
      method,
      headers,
      ...(body !== undefined && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
    })
    const text = await response.body.text()
    return { status: response.statusCode, text, arrival: upstream.requests.pop() }
  }
  return { upstream, adapter, send }
}

async function jsonOf(arrival: ReceivedRequest | undefined): Promise<unknown> {
  return JSON.parse(String(await arrival?.body))
}

it('sends context, location and properties under the names that a server of Lance reads, if it is one', async () => {
  const { upstream, send } = await remoteAndAdapter({ headerDialect: 'lance' })
  upstream.answering = respondWith(200, {})
  const { arrival = { rawHeaders: [] } } = await send('POST', '/v1/table/t/create', Buffer.from('ARROW'), {
    'x-catalog-ctx-trace': '7',
    'x-catalog-table-location': 's3://bucket/t',
    'x-catalog-table-properties': '{"a":"b"}',
  })
  const values = (name: string) => getHeaderValues(arrival, name)
  for (const [name, value] of [
    ['ctx-trace', '7'],
    ['table-location', 's3://bucket/t'],
    ['table-properties', '{"a":"b"}'],
  ] as const)
    expect([values(`x-lance-${name}`), values(`x-catalog-${name}`)]).toEqual([[value], []])
})

it('sends every operation in the canonical form of the interface', async () => {
  const { upstream, send } = await remoteAndAdapter()
  for (const operation of operationNames.map(getOperation)) {
    const { name, method, path, body, required, routeMembers } = operation
    if (operation.response === 'bytes') continue
    upstream.answering = answeringOf(operation)
    const sample = samples[name]?.body
    const envelope = { id: ['n', 'x y'], context: { trace: 'b' }, identity: { api_key: 'b' } }
    const isWrapped = body !== 'arrow' && body !== 'map'
    const sent = isWrapped ? { ...(sample as object), ...(routeMembers.length > 0 && envelope) } : sample
    const query = required.map((parameter) => `?${parameter}=id`).join('')
    const route = path.replace('{id}', 'n%24x%20y').replace('{index_name}', 'an%20index')
    const { status, arrival } = await send(method, `${route}/${query}`, sent as object, {
      'x-api-key': 'k',
      authorization: 'bearer t',
      'x-catalog-ctx-trace': 'h',
      'x-request-id': `id-${name}`,
    })
    expect([name, status]).toEqual([name, operation.status])
    expect(arrival).toMatchObject({ method, target: `/base${route}${query}` })
    const values = (header: string) => getHeaderValues(arrival ?? { rawHeaders: [] }, header)
    expect(['x-api-key', 'authorization', 'x-catalog-ctx-trace', 'x-request-id'].map(values)).toEqual([
      ['k'],
      ['Bearer t'],
      ['h'],
      [`id-${name}`],
    ])
    if (body === 'none') expect(String(await arrival?.body)).toBe('')
    else if (body === 'arrow') expect(await arrival?.body).toEqual(Buffer.from(sample as Uint8Array))
    else expect(await jsonOf(arrival)).toEqual(sample ?? {})
  }
})

it('forwards no request for bytes, because calls have no ranges', async () => {
  const { send } = await remoteAndAdapter()
  for (const method of ['GET', 'HEAD'] as const)
    expect(await send(method, '/v1/table/t/blob/image/7/bytes', undefined, {})).toMatchObject({
      status: 406,
      arrival: undefined,
    })
})

it('keeps an alias whose response has other members', async () => {
  const { send } = await remoteAndAdapter()
  const { arrival } = await send('POST', '/v1/table/t/get_lsm_write_spec/', undefined, {})
  expect(arrival).toMatchObject({ target: '/base/v1/table/t/get_lsm_write_spec' })
})

it('fills missing headers from the body', async () => {
  const { send } = await remoteAndAdapter()
  const envelope = {
    identity: { api_key: 'body-key', auth_token: 'body-token' },
    context: { Trace: 'b', other: 'o' },
  }
  const { arrival } = await send('POST', '/v1/table/t/describe', envelope, { 'x-catalog-ctx-trace': 'h' })
  const values = (header: string) => getHeaderValues(arrival ?? { rawHeaders: [] }, header)
  expect(['x-api-key', 'authorization', 'x-catalog-ctx-trace', 'x-catalog-ctx-other'].map(values)).toEqual([
    ['body-key'],
    ['Bearer body-token'],
    ['h'],
    ['o'],
  ])
  expect(await jsonOf(arrival)).toEqual({})
})

it('rejects invalid header values and prevents header injection', async () => {
  const { upstream, send } = await remoteAndAdapter()
  for (const envelope of [
    { context: { trace: 'a\r\nx-api-key: other' } },
    { context: { 'trace: a\r\nx': 'b' } },
    { context: { '': 'b' } },
    { context: { trace: '日' } },
    { identity: { api_key: 'a\nb' } },
    { identity: { auth_token: 'a\r\n\r\nGET /' } },
  ]) {
    expect(await send('POST', '/v1/table/t/describe', envelope)).toMatchObject({ status: 400 })
  }
  expect(upstream.bytesReceived()).toBe(0)
})

it('never lets a body member change how the id is parsed', async () => {
  const { send } = await remoteAndAdapter()
  const { arrival } = await send('POST', '/v1/table/a$b/describe', { delimiter: 'b', check_declared: true })
  expect(arrival?.target).toBe('/base/v1/table/a%24b/describe?check_declared=true')
})

it('joins an id by the remote delimiter, and rejects an id that contains it', async () => {
  const { upstream, send } = await remoteAndAdapter({ delimiter: '.' })
  const { arrival } = await send('POST', '/v1/table/a%24b/describe', {})
  expect(arrival?.target).toBe('/base/v1/table/a.b/describe?delimiter=.')
  expect(await send('POST', '/v1/table/a$b.c/describe', {})).toMatchObject({
    status: 400,
    arrival: undefined,
  })
  expect((await send('GET', '/v1/namespace/$/list')).arrival?.target).toBe(
    '/base/v1/namespace/./list?delimiter=.',
  )
  // The response contains ids, which must be joined by the client's delimiter.
  expect((await send('GET', '/v1/table?delimiter=::')).arrival?.target).toBe(
    '/base/v1/table?delimiter=%3A%3A',
  )
  expect(upstream.requests).toEqual([])
})

it('leaves absent members absent, forwards unknown ones, and removes quotes around modes', async () => {
  const { send } = await remoteAndAdapter()
  const body = { version: null, mode: '"ExistOk"', later_member: [1, { a: null }] }
  const { arrival } = await send('POST', '/v1/namespace/n/create', body)
  expect(await jsonOf(arrival)).toEqual({ mode: 'ExistOk', later_member: [1, { a: null }] })
})

it('sends properties of a new table in header and query, escaped to ASCII', async () => {
  const { send } = await remoteAndAdapter()
  const properties = { owner: 'Ångström\u00a0日\u{1f600}', '"': '\n' }
  const query = `mode=overwrite&properties=${encodeURIComponent(JSON.stringify(properties, null, 1))}`
  const { arrival } = await send('POST', `/v1/table/t/create?${query}`, Buffer.from('arrow'), {
    'x-catalog-table-location': '/there',
  })
  const [header] = getHeaderValues(arrival ?? { rawHeaders: [] }, 'x-catalog-table-properties')
  expect(JSON.parse(header ?? '')).toEqual(properties)
  const parameters = new URL(arrival?.target ?? '', 'http://x').searchParams
  expect([parameters.get('mode'), parameters.get('properties')]).toEqual(['overwrite', header])
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'x-catalog-table-location')).toEqual(['/there'])
})

it("does not forward the caller's identity with a configured credential", async () => {
  const { send } = await remoteAndAdapter(
    { credential: { header: 'x-api-key', value: 'own' } },
    { accessToken: 'correct-horse-battery' },
  )
  const { arrival } = await send(
    'POST',
    '/v1/table/t/explain_plan',
    { identity: { auth_token: 'b' }, query: { k: 1, identity: { api_key: 'n' } } },
    { authorization: 'Bearer correct-horse-battery', 'x-api-key': 'k' },
  )
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'x-api-key')).toEqual(['own'])
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'authorization')).toEqual([])
  expect(await jsonOf(arrival)).toEqual({ query: { k: 1, vector: { single_vector: [] } } })
})

it('never forwards the access token of this server', async () => {
  const { send } = await remoteAndAdapter({}, { accessToken: 'correct-horse-battery' })
  const { arrival } = await send(
    'POST',
    '/v1/table/t/describe',
    { identity: { auth_token: 'b' } },
    { authorization: 'Bearer correct-horse-battery', 'x-api-key': 'k' },
  )
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'x-api-key')).toEqual(['k'])
  expect(getHeaderValues(arrival ?? { rawHeaders: [] }, 'authorization')).toEqual([])
})
