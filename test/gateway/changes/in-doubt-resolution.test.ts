import { expect, it, onTestFinished } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { withUpstream, type GatewaySetup } from '../support/open-gateway.ts'
import { respondWith, getHeaderValues, type RequestHandler } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, startGatewayAndUpstreams } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

const quickly: GatewaySetup = {
  ...withUpstream(() => ({ credential: { header: 'authorization', value: 'Bearer of-the-gateway' } })),
  tuning: { resolution: { gracePeriodMs: 100, maxAgeMs: 3_600_000 } },
}
const commit = '/v1/table/sales$orders/version/create'
const path = 'sales/orders/_versions/7.manifest'
const staged = { version: 7, manifest_path: `${path}-x`, manifest_size: 100, e_tag: '"tag"' }
const final = { version: 7, manifest_path: path, manifest_size: 100, e_tag: 'tag' }

/** Closes the connection of changes, and responds to lookups. */
function breakingOff(respond: RequestHandler): RequestHandler {
  return (arrival, response, request) => {
    if (arrival.target.includes('/describe')) respond(arrival, response, request)
    else void arrival.body.catch(() => undefined).then(() => response.socket?.destroy())
  }
}

async function resolvedIn(auditFolder: string) {
  return eventually(async () => {
    const records = await recordsOf(auditFolder)
    const resolved = ofKind(records, 'resolved')
    expect(resolved).toHaveLength(1)
    return { records, resolved }
  })
}

const notThere = respondWith(404, { error: 'no such version', code: 11 })

it.each<[what: string, respond: RequestHandler, expected: object]>([
  [
    'the staged manifest is there',
    respondWith(200, { version: final }),
    { result: 'committed', lookups: 1, versions: [{ version: 7, manifestPath: path, eTag: 'tag' }] },
  ],
  [
    'another manifest is there',
    respondWith(200, { version: { ...final, manifest_size: 99 } }),
    { result: 'taken' },
  ],
  [
    'a manifest of the same size is there, under another tag',
    respondWith(200, { version: { ...final, e_tag: 'copied' } }),
    { result: 'undecided', evidence: 'version 7 exists, but its author is unknown' },
  ],
  ['the version is not there', notThere, { result: 'not_committed' }],
  [
    'the table is not there',
    respondWith(404, { error: 'no such table', code: 4 }),
    { result: 'undecided', evidence: 'the table no longer exists' },
  ],
])('resolves a commit without a response: %s', async (_what, response, expected) => {
  const { gateway, upstream } = await startGatewayAndUpstream(quickly)
  upstream.handler = breakingOff(response)
  expect(await gateway.post(commit, { body: staged })).toMatchObject({ status: 424 })
  const { records, resolved } = await resolvedIn(gateway.auditFolder)
  const [intent] = ofKind(records, 'intent')
  expect(ofKind(records, 'outcome')).toMatchObject([{ result: 'unknown' }])
  expect(resolved).toMatchObject([
    { ...expected, request: intent?.request, intentSeq: intent?.seq, intentChain: intent?.chain },
  ])
  const [, lookup] = upstream.requests
  expect(lookup).toMatchObject({ method: 'POST', target: '/v1/table/sales%24orders/version/describe' })
  expect(JSON.parse(String(await lookup?.body))).toEqual({ id: ['sales', 'orders'], version: 7 })
  expect(getHeaderValues(lookup ?? { rawHeaders: [] }, 'authorization')).toEqual(['Bearer of-the-gateway'])
})

it('absence requires two lookups; a version found by the second belongs to the change', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(quickly)
  let polls = 0
  const late: RequestHandler = (...all) =>
    ((polls += 1) < 3 ? notThere : respondWith(200, { version: final }))(...all)
  upstream.handler = breakingOff(late)
  await gateway.post(commit, { body: staged })
  expect((await resolvedIn(gateway.auditFolder)).resolved).toMatchObject([
    { result: 'committed', lookups: 3 },
  ])
})

it('an upstream that never responds delays no change of another one', async () => {
  const { gateway, upstreams, close } = await startGatewayAndUpstreams(
    { root: { namespaces: undefined }, silent: { namespaces: [['silent']] } },
    quickly,
  )
  onTestFinished(close)
  const { root, silent } = upstreams
  silent.handler = breakingOff(() => undefined)
  root.handler = breakingOff(notThere)
  await gateway.post('/v1/table/silent$orders/version/create', { body: staged })
  await eventually(() => expect(silent.requests).toHaveLength(2))
  await gateway.post(commit, { body: staged, headers: { 'x-request-id': 'of-the-other' } })
  expect((await resolvedIn(gateway.auditFolder)).resolved).toMatchObject([
    { request: 'of-the-other', result: 'not_committed' },
  ])
})

it('a version of another request is not attributed to the change', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(quickly)
  upstream.handler = respondWith(200, { version: final })
  await gateway.post(commit, { body: staged, headers: { 'x-request-id': 'winner' } })
  upstream.handler = breakingOff(respondWith(200, { version: final }))
  await gateway.post(commit, { body: staged, headers: { 'x-request-id': 'late' } })
  expect((await resolvedIn(gateway.auditFolder)).resolved).toMatchObject([
    { request: 'late', result: 'taken', evidence: 'request winner made version 7' },
  ])
})

it('retention keeps intents that are being resolved', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    tuning: { auditLog: { segmentBytes: 4_000 } },
    settings: { audit: { retention: { maxBytes: 1 } } },
  })
  let isSilent = true
  upstream.handler = (arrival, response, request) => {
    const lookup = isSilent ? respondWith(503, {}) : respondWith(200, { version: final })
    const respond = arrival.target.includes('orders') ? breakingOff(lookup) : respondWith(200, {})
    respond(arrival, response, request)
  }
  const fill = async (): Promise<void> => {
    for (let n = 0; n < 12; n += 1)
      await gateway.post('/v1/table/sales$other/tags/create', { body: { tag: 't', version: n } })
  }
  const retained = async () => (await gateway.recorded('intent')).some(({ request }) => request === 'lost')
  await gateway.post(commit, { body: staged, headers: { 'x-request-id': 'lost' } })
  await fill()
  expect((await gateway.recorded('segment')).length).toBeGreaterThan(1)
  expect(await retained()).toBe(true)
  isSilent = false
  await resolvedIn(gateway.auditFolder)
  await eventually(async () => {
    await fill()
    expect(await retained()).toBe(false)
  })
})

it('a batch is resolved as a whole', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(quickly)
  const entries = [
    { id: ['a', 'one'], ...staged },
    { id: ['a', 'two'], ...staged, version: 3, e_tag: undefined },
  ]
  upstream.handler = breakingOff(async (arrival, response, request) => {
    const { id, version } = JSON.parse(String(await arrival.body)) as { id: string[]; version: number }
    const e_tag = id[1] === 'one' ? 'tag' : 'other'
    respondWith(200, { version: { ...final, version, e_tag } })(arrival, response, request)
  })
  await gateway.post('/v1/table/version/batch-create', { body: { entries } })
  const { resolved, records } = await resolvedIn(gateway.auditFolder)
  expect(resolved).toMatchObject([
    {
      result: 'committed',
      versions: [
        { id: ['a', 'one'], version: 7 },
        { id: ['a', 'two'], version: 3 },
      ],
    },
  ])
  expect(ofKind(records, 'intent')).toMatchObject([
    {
      objects: [
        { before: 6, details: { version: 7, e_tag: '"tag"' } },
        { before: 2, details: { version: 3 } },
      ],
    },
  ])
})

it.each([
  ['not_committed if no version follows the attributed ones', 4, undefined],
  ['undecided if a further change may have created one', 5, 'the author of version 5 is unknown'],
])('a change of rows is %s', async (what, newest, evidence) => {
  const { gateway, upstream } = await startGatewayAndUpstream(quickly)
  upstream.handler = respondWith(200, { version: 4 })
  await gateway.post('/v1/table/sales$orders/insert', { body: arrowUpload })
  upstream.handler = breakingOff(respondWith(200, { version: { ...final, version: newest } }))
  await gateway.post('/v1/table/sales$orders/insert', { body: arrowUpload })
  expect((await resolvedIn(gateway.auditFolder)).resolved).toMatchObject([
    { result: what.split(' ')[0], ...(evidence !== undefined && { evidence }) },
  ])
})

it('the completion of a multipart write is in doubt without a response; a part of it creates no version', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(quickly)
  const table = '/v1/table/sales$orders'
  upstream.handler = respondWith(200, { version: 4, upload_id: 'upload-1' })
  await gateway.post(`${table}/insert`, { body: arrowUpload })
  const { json } = await gateway.post(`${table}/multipart_write/create`)
  const named = `upload_id=${encodeURIComponent((json as { upload_id: string }).upload_id)}`
  await gateway.post(`${table}/insert?${named}`, { body: arrowUpload })
  upstream.handler = breakingOff(respondWith(200, { version: final }))
  expect(await gateway.post(`${table}/multipart_write/complete?${named}`)).toMatchObject({ status: 424 })
  const { records, resolved } = await resolvedIn(gateway.auditFolder)
  expect(ofKind(records, 'intent').at(-1)).toMatchObject({ operation: 'CompleteMultipartWrite', before: 4 })
  expect(ofKind(records, 'outcome').at(-1)).toMatchObject({ result: 'unknown' })
  expect(resolved).toMatchObject([{ result: 'undecided', evidence: 'the author of version 7 is unknown' }])
})

it('retries the upstream until it responds, also after a restart of the gateway', async () => {
  const first = await startGatewayAndUpstream(quickly)
  first.upstream.handler = (_arrival, response) => response.socket?.destroy()
  await first.gateway.post(commit, { body: staged, headers: { 'x-request-id': 'lost' } })
  await eventually(() => expect(first.upstream.requests.length).toBeGreaterThan(2))
  expect(await first.gateway.metrics()).toContain('catalog_gateway_audit_in_doubt_changes 1')
  await first.gateway.stop()
  expect(await first.gateway.recorded('resolved')).toEqual([])

  const folder = first.gateway.auditFolder
  const second = await startGatewayAndUpstream({ settings: { audit: { folder } } })
  second.upstream.handler = respondWith(200, { version: final })
  const { resolved, records } = await resolvedIn(folder)
  expect(resolved).toMatchObject([{ request: 'lost', result: 'committed' }])
  expect(resolved[0]?.chain).not.toBe(resolved[0]?.intentChain)
  expect(ofKind(records, 'outcome')).toHaveLength(1)
  await eventually(async () => {
    const metrics = await second.gateway.metrics()
    expect(metrics).toContain('catalog_gateway_audit_in_doubt_changes 0')
    expect(metrics).toContain('catalog_gateway_audit_resolutions_total{result="committed"} 1')
  })
})
