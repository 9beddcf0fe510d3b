import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import type { GatewaySetup, TestedGateway } from '../support/open-gateway.ts'
import { respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

const id = ['sales', 'orders']
const table = '/v1/table/sales$orders'
const describe = '/v1/table/sales%24orders/version/describe'
const continuity = (setting: 'off' | 'warn', more: object = {}): GatewaySetup => ({
  adjust: (settings) => ({ ...settings, audit: { ...settings.audit, continuity: setting, ...more } }),
})
const continuous = continuity('warn')

/** Responds after the promise has resolved. */
function after(moment: Promise<unknown>, answering: RequestHandler): RequestHandler {
  return async (...all) => {
    await moment
    return answering(...all)
  }
}

/** Responds to changes and to version lookups with different handlers. */
function respond(change: RequestHandler, question: RequestHandler): RequestHandler {
  return (arrival, response, request) =>
    (arrival.target.includes('/version/describe') ? question : change)(arrival, response, request)
}

const newest = (version: number): RequestHandler =>
  respondWith(200, { version: { version, manifest_size: 9 } })
const statesNone = respondWith(200, {})

async function outcomesOf(gateway: TestedGateway) {
  return ofKind(await recordsOf(gateway.auditFolder), 'outcome')
}

/** A change whose response states no version, when version 4 is known and `version` is the newest. */
async function changeAfter4(change: string, body: object | string | undefined, version: number) {
  const { gateway, upstream } = await startGatewayAndUpstream(continuous)
  upstream.answering = respondWith(200, { version: 4 })
  await gateway.post(`${table}/insert`, { body: arrowUpload })
  upstream.answering = respond(statesNone, newest(version))
  const response = await gateway.post(`${table}/${change}`, body === undefined ? {} : { body })
  expect(response.status).toBe(200)
  const [, outcome] = await outcomesOf(gateway)
  return { gateway, upstream, outcome }
}

const changes: readonly [change: string, body: object | string | undefined][] = [
  ['restore', { version: 2 }],
  ['create_index', { column: 'id', index_type: 'BTREE' }],
  ['create_scalar_index', { column: 'id', index_type: 'BTREE' }],
  ['index/by_id/drop', undefined],
  ['schema_metadata/update', { owner: 'ann' }],
  ['delete', { predicate: 'id = 1' }],
  ['merge_insert?on=id', arrowUpload],
  ['insert', arrowUpload],
]

it.each(changes)(
  'the outcome of %s contains the version that the upstream describes',
  async (change, body) => {
    const { outcome, upstream } = await changeAfter4(change, body, 5)
    expect(outcome).toMatchObject({
      result: 'committed',
      version: 5,
      versions: [{ id, version: 5, manifestSize: 9, observed: true }],
    })
    expect(outcome?.outOfBand).toBeUndefined()
    const [, , request] = upstream.requests
    expect(request?.target).toBe(describe)
    expect(JSON.parse(String(await request?.body))).toEqual({ id })
  },
)

it.each(changes)('flags an out-of-band commit before or right after %s', async (change, body) => {
  const { gateway, upstream, outcome } = await changeAfter4(change, body, 6)
  expect(outcome).toMatchObject({ version: 6, outOfBand: [{ id, from: 5, to: 5 }] })
  upstream.answering = respondWith(200, { version: 8 })
  await gateway.post(`${table}/insert`, { body: arrowUpload })
  expect((await outcomesOf(gateway))[2]).toMatchObject({ outOfBand: [{ id, from: 7, to: 7 }] })
})

it('versions after an overwriting registration start with those of the dataset', async () => {
  const register = { location: 'other.lance', mode: 'Overwrite' }
  const { gateway, upstream, outcome } = await changeAfter4('register', register, 2)
  expect(outcome).toMatchObject({ version: 2, versions: [{ id, version: 2, observed: true }] })
  expect(outcome?.outOfBand).toBeUndefined()
  upstream.answering = respondWith(200, { version: 4 })
  await gateway.post(`${table}/insert`, { body: arrowUpload })
  const [, , next] = await outcomesOf(gateway)
  expect(next).toMatchObject({ version: 4, outOfBand: [{ id, from: 3, to: 3 }] })
})

it('describes the branch for a change of a branch', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(continuous)
  upstream.answering = respond(statesNone, newest(3))
  await gateway.post(`${table}/restore`, { body: { version: 1, branch: 'dev' } })
  expect(JSON.parse(String(await upstream.requests[1]?.body))).toEqual({ id, branch: 'dev' })
  expect(await outcomesOf(gateway)).toMatchObject([{ versions: [{ id, branch: 'dev', version: 3 }] }])
})

it.each<[what: string, question: RequestHandler]>([
  ['does not know the operation', respondWith(404, { error: 'no such route', code: 0 })],
  ['fails', respondWith(500, {})],
  ['closes the connection', (_arrival, response) => response.socket?.destroy()],
  ['describes no version', respondWith(200, { fine: true })],
  ['never responds', () => undefined],
])('if the upstream %s, the outcome has no version and the response is as usual', async (_what, request) => {
  const { gateway, upstream } = await startGatewayAndUpstream(continuous)
  upstream.answering = respond(statesNone, request)
  expect(await gateway.post(`${table}/restore`, { body: { version: 2 } })).toMatchObject({ status: 200 })
  const [outcome] = await outcomesOf(gateway)
  expect(outcome).toMatchObject({ result: 'committed', status: 200 })
  expect(outcome).not.toHaveProperty('versions')
})

const bodies: Readonly<Record<string, string | object>> = {
  insert: arrowUpload,
  restore: { version: 2 },
  create_index: { column: 'a', index_type: 'BTREE' },
}

it.each<[what: string, change: string, response: RequestHandler, setup: GatewaySetup]>([
  ['a stated version', 'insert', respondWith(200, { version: 7 }), continuous],
  ['a job', 'create_index', respondWith(202, { job_id: 'j' }), continuous],
  ['a refusal', 'restore', respondWith(409, { error: 'in conflict', code: 14 }), continuous],
  ['a drop', 'drop', statesNone, continuous],
  ['the removal of versions', 'version/delete', statesNone, continuous],
  ['a tag', 'tags/create', statesNone, continuous],
  ['a gateway that is not the only way to the tables', 'restore', statesNone, continuity('off')],
])('does not query the upstream after %s', async (_what, change, response, setup) => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  upstream.answering = respond(response, newest(9))
  await gateway.post(`${table}/${change}`, { body: bodies[change] ?? {} })
  expect(await outcomesOf(gateway)).toHaveLength(1)
  expect(upstream.requests.map(({ target }) => target)).not.toContain(describe)
})

it('a response that does not wait for its outcome does not wait for the version', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    continuity('warn', { modes: { admin: 'besteffort' } }),
  )
  const described = createDeferred()
  upstream.answering = respond(statesNone, after(described.promise, newest(5)))
  expect(await gateway.post(`${table}/restore`, { body: { version: 2 } })).toMatchObject({ status: 200 })
  await eventually(() => expect(upstream.requests).toHaveLength(2))
  expect(await outcomesOf(gateway)).toEqual([])
  described.resolve(undefined)
  await eventually(async () => expect(await outcomesOf(gateway)).toMatchObject([{ version: 5 }]))
})

it('records the outcome without the version during a shutdown', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    continuity('warn', { modes: { admin: 'besteffort' } }),
  )
  upstream.answering = respond(statesNone, () => undefined)
  await gateway.post(`${table}/restore`, { body: { version: 2 } })
  await eventually(() => expect(upstream.requests).toHaveLength(2))
  await gateway.stop()
  const [outcome] = await outcomesOf(gateway)
  expect(outcome).toMatchObject({ result: 'committed', status: 200 })
  expect(outcome).not.toHaveProperty('versions')
})

it('does not flag an observed version that another response states later, also after a restart', async () => {
  const { gateway, upstream, outcome } = await changeAfter4('restore', { version: 2 }, 5)
  expect(outcome).toMatchObject({ version: 5 })
  const inserted = createDeferred()
  upstream.answering = after(inserted.promise, respondWith(200, { version: 7 }))
  const insert = gateway.post(`${table}/insert`, { body: arrowUpload })
  await eventually(() => expect(upstream.requests).toHaveLength(4))
  upstream.answering = respond(statesNone, newest(7))
  // It is version 6: the insert created version 7 before the upstream described the newest one.
  await gateway.post(`${table}/schema_metadata/update`, { body: { owner: 'ann' } })
  inserted.resolve(undefined)
  await insert
  expect((await outcomesOf(gateway)).map(({ version, outOfBand }) => [version, outOfBand])).toEqual([
    [4, undefined],
    [5, undefined],
    [7, undefined],
    [7, undefined],
  ])
  await gateway.stop()
  const second = await startGatewayAndUpstream(continuity('warn', { folder: gateway.auditFolder }))
  second.upstream.answering = respondWith(200, { version: 9 })
  await second.gateway.post(`${table}/insert`, { body: arrowUpload })
  expect((await outcomesOf(gateway))[4]).toMatchObject({ outOfBand: [{ id, from: 8, to: 8 }] })
})
