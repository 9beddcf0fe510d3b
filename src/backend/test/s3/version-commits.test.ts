import { connectNamespace } from '@lancedb/lancedb'
import { expect, onTestFinished, it, vi } from 'vitest'
import { directOutbound } from '../../../outbound/outbound.ts'
import { openManifestStore } from '../../engine/manifest/manifest-store.ts'
import { openStorage } from '../../storage/open-storage.ts'
import { backendSettings } from '../support/backend-settings.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'
import { freshBucket } from './object-store.ts'
import { committer } from './staged-objects.ts'

async function locationOf(post: Awaited<ReturnType<typeof runningBackend>>['post'], id: string) {
  const { json } = await post(`/v1/table/${id}/create`, streamOf(orders(1)))
  return (json as { location: string }).location
}

it('lets one of several commits win and returns keys of the bucket', async () => {
  const bucket = await freshBucket()
  const { post, get } = await runningBackend(bucket.settings, bucket.folder)
  const location = await locationOf(post, 't')
  expect(location).toMatch(/^s3:\/\/tests-[0-9a-f]+\/some\/prefix\/tables\/[0-9a-f]{32}\.lance$/)
  const key = location.slice(`s3://${bucket.bucket}/`.length)
  for (let version = 2; version <= 3; version += 1) {
    const clients = await Promise.all(Array.from({ length: 4 }, () => committer(bucket, location)))
    const staged = await Promise.all(clients.map((client) => client.stage()))
    const responses = await Promise.all(staged.map((request) => post('/v1/table/t/version/create', request)))
    const winner = responses.findIndex(({ status }) => status === 200)
    for (const [index, response] of responses.entries()) {
      if (index !== winner) expect(response).toEqual(errorOf('ConcurrentModification'))
    }
    const published = `${key}/_versions/${String(2n ** 64n - 1n - BigInt(version))}.manifest`
    const described = await post('/v1/table/t/version/describe', { version })
    expect(responses[winner]?.json).toEqual(described.json)
    expect(described.json).toMatchObject({ version: { version, manifest_path: published } })
    // A replay gets the first success.
    expect(await post('/v1/table/t/version/create', staged[winner])).toEqual(responseOf(described.json))
    expect(await bucket.keys(`${key}/_versions/`)).toContain(published)
    expect(await bucket.keys(`${key}/_versions/`)).not.toContain(staged[winner]?.manifest_path)
  }
  expect((await get('/v1/table/t/count_rows')).json).toBe(3)
})

it('lets one of several writers win without a shared lock', async () => {
  const bucket = await freshBucket()
  const { post } = await runningBackend(bucket.settings, bucket.folder)
  const location = await locationOf(post, 't')
  const { storage, close } = await openStorage(
    backendSettings(bucket.folder, bucket.settings).data,
    directOutbound,
  )
  onTestFinished(close)
  const manifests = openManifestStore(storage)
  const clients = await Promise.all(Array.from({ length: 6 }, () => committer(bucket, location)))
  const requests = await Promise.all(clients.map((client) => client.stage()))
  const staged = await Promise.all(
    requests.map(({ version, manifest_path: manifestPath }) =>
      manifests.inspectStaging(location, { version, manifestPath }),
    ),
  )
  const outcomes = await Promise.allSettled(staged.map((one) => manifests.publish(one)))
  const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  expect(winners).toEqual([await manifests.describe(location, 2, undefined)])
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected')
      expect(outcome.reason).toMatchObject({ kind: 'ConcurrentModification' })
  }
})

it('returns the published manifests of a batch, not the staged ones', async () => {
  const bucket = await freshBucket()
  const { post } = await runningBackend(bucket.settings, bucket.folder)
  const entries: object[] = []
  for (const name of ['a', 'b']) {
    const request = await (await committer(bucket, await locationOf(post, name))).stage()
    // A multipart upload has another tag than a single upload of the same bytes.
    const e_tag = await bucket.putInParts(request.manifest_path)
    entries.push({ id: [name], ...request, e_tag })
  }
  const response = await post('/v1/table/version/batch-create', { entries })
  const described = []
  for (const name of ['a', 'b']) {
    const { json } = await post(`/v1/table/${name}/version/describe`, { version: 2 })
    described.push((json as { version: object }).version)
  }
  expect(response).toEqual(responseOf({ versions: described }))
  expect(await post('/v1/table/version/batch-create', { entries })).toEqual(
    responseOf({ versions: described }),
  )
})

it('a manifest outside of the table is not published', async () => {
  const bucket = await freshBucket()
  const { post } = await runningBackend(bucket.settings, bucket.folder)
  const location = await locationOf(post, 't')
  const request = await (await committer(bucket, location)).stage()
  const name = request.manifest_path.split('/').at(-1)
  const elsewhere = ['outside', 'some/prefix', 'some/prefix/tables/other.lance/_versions']
  for (const folder of elsewhere) {
    await bucket.put(`${folder}/${name}`, 'LANC')
    const manifest_path = `${folder}/${name}`
    expect(await post('/v1/table/t/version/create', { ...request, manifest_path })).toEqual(
      errorOf('InvalidInput'),
    )
    expect(await bucket.keys(`${folder}/${name}`)).toEqual([manifest_path])
  }
  const uri = `s3://${bucket.bucket}/${request.manifest_path}`
  expect((await post('/v1/table/t/version/create', { ...request, manifest_path: uri })).status).toBe(200)
})

it('commits versions that the catalog client wrote to the object store', async () => {
  const bucket = await freshBucket()
  const { url, get, post } = await runningBackend(bucket.settings, bucket.folder)
  // A client learns the endpoint and the credentials from its own environment.
  vi.stubEnv('AWS_ENDPOINT', bucket.endpoint)
  vi.stubEnv('AWS_ALLOW_HTTP', 'true')
  onTestFinished(() => void vi.unstubAllEnvs())
  const client = await connectNamespace('rest', { uri: url() })
  await client.createNamespace(['a'])
  await client.createTable('t', [{ id: 1 }], ['a'])
  const writers = await Promise.all(Array.from({ length: 3 }, () => client.openTable('t', ['a'])))
  await Promise.all(writers.map((writer) => writer.add([{ id: 2 }])))
  expect((await get('/v1/table/a$t/count_rows')).json).toBe(4)
  const { versions } = (await post('/v1/table/a$t/version/list')).json as { versions: { version: number }[] }
  expect(versions.map(({ version }) => version)).toEqual([1, 2, 3, 4])
})
