import type { Properties } from '../../store/objects.ts'
import type { CatalogDatabase } from '../../store/database-schema.ts'
import { deleteVersionRecord, recordVersion } from '../../store/versions.ts'
import type { StagedManifest } from '../../engine/manifest/manifest-records.ts'
import { normalizeBranch } from '../context/branches.ts'

/** What a client says of the version that it commits. */
interface VersionCommit {
  readonly manifest_path: string
  readonly metadata?: Properties | undefined
}

/**
 * Records that a staged manifest is to become a version, in a transaction of the caller. Storage has no such version,
 * so what is on record under its number is of a manifest that is no more.
 */
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
