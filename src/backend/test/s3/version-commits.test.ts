import { randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import { CopyObjectCommand } from '@aws-sdk/client-s3'
import { expect, onTestFinished, it } from 'vitest'
import { directOutbound } from '../../../outbound/outbound.ts'
import { openEngine } from '../../engine/lancedb-engine.ts'
import { openManifestStore } from '../../engine/manifest/manifest-store.ts'
import { dataSchema } from '../../settings/backend-settings.ts'
import { openStorage } from '../../storage/open-storage.ts'
import { backendSettings } from '../support/backend-settings.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'
import type { VersionRequest } from '../support/staged-manifests.ts'
import { freshBucket } from './object-store.ts'

/**
 * A client that writes to a copy of the table elsewhere in the bucket, so that it can stage manifests without
 * committing to the table. Each such client creates a different manifest of the same version.
 */
async function committer({ client, bucket, endpoint, keys }: Bucket, location: string) {
  const root = `s3://${bucket}/copies`
  const { storage, close } = await openStorage(
    dataSchema.parse({ s3: { location: root, endpoint } }),
    directOutbound,
  )
  const engine = openEngine({ storage })
  onTestFinished(async () => {
    await engine.close()
    close()
  })
  const manifests = openManifestStore(storage)
  const table = location.slice(`s3://${bucket}/`.length)
  const copy = `copies/${randomUUID()}.lance`
  const put = (from: string, to: string) =>
    client.send(new CopyObjectCommand({ Bucket: bucket, Key: to, CopySource: `${bucket}/${from}` }))
  for (const key of await keys(`${table}/`)) await put(key, copy + key.slice(table.length))
  return {
    /** Commits the next version in the copy and leaves its manifest as a staging object in the table. */
    async stage(): Promise<VersionRequest> {
      const before = new Set(await keys(`${copy}/data/`))
      const { version } = await engine.insert(`s3://${bucket}/${copy}`, streamOf(orders(1)), 'append')
      const stored = await manifests.describe(`s3://${bucket}/${copy}`, version, undefined)
      if (stored === undefined) throw new Error('the copy has no such version')
      const staging = `${table}/_versions/${basename(stored.manifestPath)}-${randomUUID()}`
      await put(stored.manifestPath, staging)
      for (const key of await keys(`${copy}/data/`)) {
        if (!before.has(key)) await put(key, table + key.slice(copy.length))
      }
      return { version, manifest_path: staging, manifest_size: stored.manifestSize, naming_scheme: 'V2' }
    },
  }
}

type Bucket = Awaited<ReturnType<typeof freshBucket>>

async function locationOf(post: Awaited<ReturnType<typeof runningBackend>>['post'], id: string) {
  const { json } = await post(`/v1/table/${id}/create`, streamOf(orders(1)))
  return (json as { location: string }).location
}

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
  const outcomes = await Promise.allSettled(
    staged.map(async (one, index) => {
      const retainedPath = `${bucket.location}/commits/t/${index}`
      await manifests.retain(one, retainedPath)
      const { version, eTag, namingScheme, stagingPath: manifestPath } = one
      await manifests.publishRetained(location, { version, eTag, namingScheme, manifestPath, retainedPath })
    }),
  )
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect((await manifests.describe(location, 2, undefined))?.version).toBe(2)
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
