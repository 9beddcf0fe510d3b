import { randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import { CopyObjectCommand } from '@aws-sdk/client-s3'
import { onTestFinished } from 'vitest'
import { directOutbound } from '../../../outbound/outbound.ts'
import { openEngine } from '../../engine/lancedb-engine.ts'
import { openManifestStore } from '../../engine/manifest/manifest-store.ts'
import { dataSchema } from '../../settings/backend-settings.ts'
import { openStorage } from '../../storage/open-storage.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import type { VersionRequest } from '../support/staged-manifests.ts'
import type { freshBucket } from './object-store.ts'

/**
 * A client that writes to a copy of the table elsewhere in the bucket, so that it can stage manifests without
 * committing to the table. Each such client creates a different manifest of the same version.
 */
export async function committer({ client, bucket, endpoint, keys }: Bucket, location: string) {
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
