import { Readable } from 'node:stream'
import { Int32, Table, tableToIPC, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { expectError } from '../support/expect-error.ts'
import { createDeferred } from '../support/waiting.ts'
import { arrowUpload, batchMessage, endOfStreamBytes } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

const commit = '/v1/table/sales$orders/version/create'
const insert = '/v1/table/sales$orders/insert'
const id = ['sales', 'orders']
const manifest_path = 'sales/orders/_versions/7.manifest'
const staged = { version: 7, manifest_path: `${manifest_path}-x`, e_tag: 's', metadata: { author: 'ann' } }
const final = { version: 7, manifest_path, manifest_size: 9, e_tag: 'f', metadata: { author: 'ann' } }

it('records a commit with the versions before and after, and both manifests', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = respondWith(200, { version: final })
  await gateway.post(commit, { body: staged })
  const records = await recordsOf(gateway.auditFolder)
  expect(ofKind(records, 'intent')).toMatchObject([
    {
      before: 6,
      details: { version: 7, manifest_path: `${manifest_path}-x`, e_tag: 's', metadata_keys: ['author'] },
    },
  ])
  const after = { id, version: 7, manifestPath: manifest_path, manifestSize: 9, eTag: 'f' }
  expect(ofKind(records, 'outcome')).toMatchObject([
    { result: 'committed', version: 7, versions: [{ ...after, metadataKeys: ['author'] }] },
  ])
  expect(JSON.stringify(records)).not.toContain('"ann"')
})

it('records an upload with its bytes, rows and schema, and with the last recorded version', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = respondWith(200, { version: 7 })
  await gateway.post(commit, { body: staged })
  upstream.handler = respondWith(200, { version: 8 })
  const body = Buffer.from(tableToIPC(new Table({ a: vectorFromArray([1, 2, 3], new Int32()) }), 'stream'))
  await gateway.post(insert, { body })
  expect(await upstream.requests[1]?.body).toEqual(body)
  expect((await gateway.recorded('intent'))[1]).toMatchObject({ operation: 'InsertIntoTable', before: 7 })
  expect((await gateway.recorded('outcome'))[1]).toMatchObject({
    versions: [{ id, version: 8 }],
    upload: { bytes: body.length, batches: 1, rows: 3, schema: expect.stringMatching(/^[0-9a-f]{64}$/) },
  })
})

it('records why the rest of an upload was not forwarded', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const arrived = createDeferred<void>()
  upstream.handler = (_arrival, _response, request) => request.once('data', () => arrived.resolve())
  async function* body(): AsyncGenerator<Buffer> {
    const batch = batchMessage(100_000)
    yield Buffer.concat([arrowUpload.subarray(0, -endOfStreamBytes), batch, Buffer.alloc(100_000)])
    await arrived.promise
    yield arrowUpload
  }
  expectError(await gateway.post(insert, { body: Readable.from(body()) }), {
    kind: 'InvalidInput',
    says: 'not an Arrow IPC stream that can be read: unexpected message',
  })
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
  expect(await gateway.recorded('outcome')).toMatchObject([
    { result: 'unknown', upload: { batches: 1, unread: 'unexpected message' } },
  ])
})

it('records a batch as one intent with all its effects, and its versions by table', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const operations = [
    { deregister_table: { id: ['a', 'gone'] } },
    { create_table_version: { id: ['a', 'one'], ...staged, branch: 'dev' } },
  ]
  upstream.handler = respondWith(200, {
    results: [{ deregister_table: {} }, { create_table_version: { version: final } }],
  })
  await gateway.post('/v1/table/batch-commit', { body: { operations } })
  expect(await gateway.recorded('intent')).toMatchObject([
    {
      operation: 'BatchCommitTables',
      id: [],
      objects: [
        { operation: 'DeregisterTable', id: ['a', 'gone'] },
        { operation: 'CreateTableVersion', id: ['a', 'one'] },
      ],
    },
  ])
  expect(await gateway.recorded('outcome')).toMatchObject([
    { versions: [{ id: ['a', 'one'], branch: 'dev', version: 7, manifestPath: manifest_path }] },
  ])
})

it('knows the versions of tables after a restart', async () => {
  const first = await startGatewayAndUpstream()
  first.upstream.handler = respondWith(200, { version: 4 })
  await first.gateway.post(insert, { body: arrowUpload })
  await first.gateway.stop()
  const second = await startGatewayAndUpstream({ settings: { audit: { folder: first.gateway.auditFolder } } })
  second.upstream.handler = respondWith(200, { version: 6 })
  await second.gateway.post(insert, { body: arrowUpload })
  expect((await first.gateway.recorded('intent'))[1]).toMatchObject({ before: 4 })
})

it('records a rejected caller once, and counts further attempts', async () => {
  const { gateway } = await startGatewayAndUpstream()
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await gateway.post(insert, { as: null, headers: { 'x-api-key': 'secret' } })
  }
  await gateway.get('/v1/table', { as: null })
  const refused = { client: '127.0.0.1', status: 401 }
  await eventually(async () =>
    expect(await gateway.recorded('refusal')).toMatchObject([
      { ...refused, reason: 'malformed_api_key', operation: 'InsertIntoTable' },
      { ...refused, reason: 'missing_credential', operation: 'ListAllTables' },
    ]),
  )
  await gateway.stop()
  const records = await recordsOf(gateway.auditFolder)
  expect(ofKind(records, 'refusal').slice(2)).toMatchObject([
    { ...refused, reason: 'malformed_api_key', details: { repeats: 4 } },
  ])
  expect(JSON.stringify(records)).not.toContain('secret')
})
