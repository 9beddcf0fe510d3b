import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  tableNotFound,
} from 'catalog-gateway/catalog-api'
import type { RequestOf } from '../schemas/operation-schemas.ts'
import { findTableState, type TableEntry } from '../database/objects.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import { findVersion, deleteVersionRecord, recordVersion } from '../database/versions.ts'
import type { StagedManifest, StagingRequest } from '../engine/manifest/commits.ts'
import type { StoredVersion } from '../engine/manifest/manifest-files.ts'
import { normalizeBranch, mainBranch, tableLocation, type CatalogContext } from './context.ts'
import { requireTable } from './find-table.ts'
import { recordCommitted, finishVersionRecord, isPermanentRefusal, reconcileVersions } from './reconcile.ts'
import type { Operations } from './operations.ts'
import { toTableVersion, type TableVersion } from './versions.ts'

type Request = RequestOf<'CreateTableVersion'>

export const versionCreation = {
  /**
   * Gives the staging manifest of a client its final name if the version is the next one. A replay with the same staging
   * path gets the first success again. Throws ConcurrentModification (409), TableNotFound (404), InvalidInput (400).
   */
  async CreateTableVersion(context, { id, request }) {
    const table = await requireTable(context.database, id)
    const version = await context.commitLock.runExclusive(table.objectId, async () => {
      await reconcileVersions(context, table)
      return (
        (await findReplayedVersion(context, table, request)) ?? (await commit(context, id, table, request))
      )
    })
    return { version }
  },
} satisfies Operations

/** Returns the first success of a replayed request, recognized by its staging path. */
export async function findReplayedVersion(
  context: CatalogContext,
  table: TableEntry,
  request: Request,
): Promise<TableVersion | undefined> {
  const branch = normalizeBranch(request.branch)
  const record = await findVersion(context.database, table.objectId, branch, request.version)
  if (record?.manifestPath !== request.manifest_path) return undefined
  const stored = await context.manifestStore.describe(tableLocation(context, table), request.version, branch)
  return stored && toTableVersion(stored, record.metadata)
}

async function commit(
  context: CatalogContext,
  id: Identifier,
  table: TableEntry,
  request: Request,
): Promise<TableVersion> {
  const location = tableLocation(context, table)
  const branch = normalizeBranch(request.branch)
  await requireNextVersion(context, id, table, branch, request.version)
  const staged = await context.manifestStore.inspectStaging(location, toStagingRequest(request))
  await recordCommit(context, id, table, request, staged)
  const stored = await publish(context, table, staged)
  await recordCommitted(context, table, 'final name of a version', () =>
    finishVersionRecord(context, table, branch, request.version),
  )
  return toTableVersion(stored, request.metadata)
}

/** Throws ConcurrentModification (409) unless `version` is the next one. Returns the newest version. */
export async function requireNextVersion(
  context: CatalogContext,
  id: Identifier,
  table: TableEntry,
  branch: string,
  version: number,
): Promise<StoredVersion | undefined> {
  const latest = await context.manifestStore.describe(tableLocation(context, table), undefined, branch)
  // The number of a branch's first version is one above the version that it branched from.
  const next = latest === undefined && branch !== mainBranch ? version : (latest?.version ?? 0) + 1
  if (version === next) return latest
  throw new CatalogError(
    'ConcurrentModification',
    `cannot create version ${version} of ${formatIdentifierForMessage(id)}; the next version is ${next}`,
  )
}

async function recordCommit(
  context: CatalogContext,
  id: Identifier,
  table: TableEntry,
  request: Request,
  staged: StagedManifest,
): Promise<void> {
  await context.database.transaction().execute(async (database) => {
    if ((await findTableState(database, table.objectId)) === undefined) throw tableNotFound(id)
    await recordStagedVersion(database, table.objectId, request, staged)
  })
}

async function publish(
  context: CatalogContext,
  table: TableEntry,
  staged: StagedManifest,
): Promise<StoredVersion> {
  try {
    return await context.manifestStore.publish(staged)
  } catch (error) {
    // Usually nothing was published; otherwise the next reader finds the record and reconciles.
    if (isPermanentRefusal(error)) {
      await deleteVersionRecord(
        context.database,
        table.objectId,
        normalizeBranch(staged.branch),
        staged.version,
      )
    }
    throw error
  }
}

export function toStagingRequest(request: Request): StagingRequest {
  return {
    version: request.version,
    branch: request.branch,
    manifestPath: request.manifest_path,
    manifestSize: request.manifest_size,
    eTag: request.e_tag,
    namingScheme: request.naming_scheme,
  }
}

/** Storage has no such version, so an existing record with its number belongs to a manifest that no longer exists. */
export async function recordStagedVersion(
  database: CatalogDatabase,
  objectId: string,
  commit: Pick<Request, 'manifest_path' | 'metadata'>,
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
