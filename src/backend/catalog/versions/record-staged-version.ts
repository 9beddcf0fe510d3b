import type { Properties } from '../../database/objects.ts'
import type { CatalogDatabase } from '../../database/database-schema.ts'
import { deleteVersionRecord, recordVersion } from '../../database/versions.ts'
import type { StagedManifest } from '../../engine/manifest/manifest-records.ts'
import { normalizeBranch } from '../context/branches.ts'

interface VersionCommit {
  readonly manifest_path: string
  readonly metadata?: Properties | undefined
}

/** Storage has no such version, so an existing record with its number belongs to a manifest that no longer exists. */
export async function recordStagedVersion(
  database: CatalogDatabase,
  objectId: string,
  commit: VersionCommit,
  staged: StagedManifest,
  retainedName?: string,
): Promise<void> {
  const branch = normalizeBranch(staged.branch)
  await deleteVersionRecord(database, objectId, branch, staged.version)
  await recordVersion(database, objectId, {
    branch,
    version: staged.version,
    manifestPath: commit.manifest_path,
    manifestSize: staged.manifestSize,
    eTag: staged.eTag,
    namingScheme: staged.namingScheme,
    metadata: commit.metadata,
    retainedName,
  })
}
