import { expect, onTestFinished, it } from 'vitest'
import { directOutbound } from '../../../outbound/outbound.ts'
import { inspectStaging, publishRetainedManifest, retainManifest } from '../../engine/manifest/commits.ts'
import { findManifest } from '../../engine/manifest/manifest-files.ts'
import { openStorage } from '../../storage/open-storage.ts'
import { backendSettings } from '../support/backend-settings.ts'
import { orders } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'
import { committer } from '../support/staged-manifests.ts'
import { freshBucket } from './object-store.ts'

it('lets one of several writers win without a shared lock', async () => {
  const bucket = await freshBucket()
  const { createTable } = await runningBackend(bucket.settings, bucket.folder)
  const location = await createTable('t', orders(1))
  const { storage, close } = await openStorage(
    backendSettings(bucket.folder, bucket.settings).data,
    directOutbound,
  )
  onTestFinished(close)
  const clients = await Promise.all(Array.from({ length: 6 }, () => committer(location, bucket.client)))
  const requests = await Promise.all(clients.map((client) => client.stage()))
  const staged = await Promise.all(
    requests.map(({ version, manifest_path }) =>
      inspectStaging(storage, location, { version, manifest_path }),
    ),
  )
  const outcomes = await Promise.allSettled(
    staged.map(async (one, index) => {
      const retainedPath = `${bucket.location}/commits/t/${index}`
      await retainManifest(storage, one, retainedPath)
      const { version, eTag, namingScheme, stagingPath } = one
      const retained = { version, eTag, namingScheme, stagingPath, retainedPath }
      await publishRetainedManifest(storage, location, retained)
    }),
  )
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect((await findManifest(storage, { location, version: 2 }))?.version).toBe(2)
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected')
      expect(outcome.reason).toMatchObject({ kind: 'ConcurrentModification' })
  }
})

it('returns the published manifests of a batch, not the staged ones', async () => {
  const bucket = await freshBucket()
  const { post, createTable } = await runningBackend(bucket.settings, bucket.folder)
  const entries: object[] = []
  for (const name of ['a', 'b']) {
    const request = await (await committer(await createTable(name, orders(1)), bucket.client)).stage()
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
  const { post, createTable } = await runningBackend(bucket.settings, bucket.folder)
  const location = await createTable('t', orders(1))
  const request = await (await committer(location, bucket.client)).stage()
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
