import { randomUUID } from 'node:crypto'
import { copyFile, cp, readFile, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { openEngine } from '../../engine/lancedb-engine.ts'
import { openManifestStore } from '../../engine/manifest/manifest-store.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

const engine = openEngine()
const manifests = openManifestStore()

export interface VersionRequest {
  readonly version: number
  readonly manifest_path: string
  readonly manifest_size: number
  readonly naming_scheme: string
}

/**
 * A client that writes to a copy of the table in storage, so that it can stage manifests without committing to the
 * table. Each such client creates a different manifest of the same version.
 */
export async function committer(location: string, folder?: string) {
  const copy = join(folder ?? (await temporaryFolder()), 'copy.lance')
  await cp(location, copy, { recursive: true })
  return {
    /** Commits the next version in the copy and leaves its manifest as a staging file in the table. */
    async stage(): Promise<VersionRequest> {
      const before = new Set(await readdir(join(copy, 'data')))
      const { version } = await engine.insert(copy, streamOf(orders(1)), 'append')
      const stored = await manifests.describe(copy, version, undefined)
      if (stored === undefined) throw new Error('the copy has no such version')
      const source = join('/', stored.manifestPath)
      const staging = join(location, '_versions', `${basename(source)}-${randomUUID()}`)
      await copyFile(source, staging)
      for (const file of await readdir(join(copy, 'data'))) {
        if (!before.has(file)) await copyFile(join(copy, 'data', file), join(location, 'data', file))
      }
      const manifest_size = (await readFile(staging)).length
      return { version, manifest_path: staging.slice(1), manifest_size, naming_scheme: 'V2' }
    },
  }
}
