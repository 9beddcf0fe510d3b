import { randomUUID } from 'node:crypto'
import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
} from 'catalog-gateway/catalog-api'
import { type RequestOf } from '../schemas/operation-schemas.ts'
import type { TableEntry } from '../database/objects.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import type { StagedManifest } from '../engine/manifest/commits.ts'
import type { NamingScheme } from '../engine/manifest/manifest-files.ts'
import { normalizeBranch, tableLocation, type CatalogContext } from './context.ts'
import {
  findReplayedVersion,
  requireNextVersion,
  toStagingRequest,
  recordStagedVersion,
} from './create-version.ts'
import { requireSameTable } from './find-table.ts'
import { retainedManifestPath } from './reconcile.ts'
import { toTableVersion, type TableVersion } from './versions.ts'

export interface BatchedVersion {
  readonly id: Identifier
  readonly table: TableEntry
  readonly request: RequestOf<'CreateTableVersion'>
}

/** Returns the first success of a replayed batch; undefined unless every version was committed. */
export async function findReplayedVersions(
  context: CatalogContext,
  versions: readonly BatchedVersion[],
): Promise<readonly TableVersion[] | undefined> {
  const replayed: TableVersion[] = []
  for (const { table, request } of versions) {
    const found = await findReplayedVersion(context, table, request)
    if (found === undefined) return undefined
    replayed.push(found)
  }
  return replayed
}

/**
 * Inspects the staging manifests of the versions. Those of one branch must follow the newest version and each other, in
 * any order. Throws ConcurrentModification (409) or InvalidInput (400). The caller holds the locks of the tables.
 */
export async function inspectStagedVersions(
  context: CatalogContext,
  versions: readonly BatchedVersion[],
): Promise<ReadonlyMap<BatchedVersion, StagedManifest>> {
  const staged = new Map<BatchedVersion, StagedManifest>()
  for (const branchVersions of groupByBranch(versions)) {
    let scheme = await requireConsecutive(context, branchVersions)
    for (const version of branchVersions) {
      const location = tableLocation(context, version.table)
      const found = await context.manifestStore.inspectStaging(location, toStagingRequest(version.request))
      scheme ??= found.namingScheme
      if (found.namingScheme !== scheme) {
        throw invalidInput(`expected a manifest name of scheme ${scheme}, like the previous ones`)
      }
      staged.set(version, found)
    }
  }
  return staged
}

/** Returns a function that records the version in a transaction and returns the response. */
export async function retainVersion(
  context: CatalogContext,
  { id, table, request }: BatchedVersion,
  staged: StagedManifest,
) {
  const retainedName = randomUUID()
  const stored = await context.manifestStore.retain(
    staged,
    retainedManifestPath(context, table, retainedName),
  )
  return async (database: CatalogDatabase): Promise<TableVersion> => {
    const { objectId } = await requireSameTable(database, id, table.objectId)
    await recordStagedVersion(database, objectId, request, staged, retainedName)
    return toTableVersion(stored, request.metadata)
  }
}

/** Returns a committed version as stored; undefined if storage cannot be read now. */
export async function describePublishedVersion(
  context: CatalogContext,
  { table, request }: BatchedVersion,
): Promise<TableVersion | undefined> {
  const { version, branch, metadata } = request
  try {
    const stored = await context.manifestStore.describe(tableLocation(context, table), version, branch)
    return stored && toTableVersion(stored, metadata)
  } catch (error) {
    context.log.warn({ err: error, table: table.objectId }, 'committed version cannot be described')
    return undefined
  }
}

/** Groups by table and branch, each oldest first. */
function groupByBranch(versions: readonly BatchedVersion[]): Iterable<readonly BatchedVersion[]> {
  const groups = new Map<string, BatchedVersion[]>()
  for (const version of versions) {
    const key = `${version.table.objectId}/${normalizeBranch(version.request.branch)}`
    const group = groups.get(key) ?? []
    group.push(version)
    groups.set(key, group)
  }
  return [...groups.values()].map((group) =>
    group.toSorted((one, other) => one.request.version - other.request.version),
  )
}

/** Returns the naming scheme of the newest existing version. */
async function requireConsecutive(
  context: CatalogContext,
  versions: readonly BatchedVersion[],
): Promise<NamingScheme | undefined> {
  let before: number | undefined
  let scheme: NamingScheme | undefined
  for (const { id, table, request } of versions) {
    const { version } = request
    if (before === undefined) {
      const newest = await requireNextVersion(context, id, table, normalizeBranch(request.branch), version)
      scheme = newest?.namingScheme
    } else if (version === before) {
      throw invalidInput(`duplicate version ${version} of ${formatIdentifierForMessage(id)} in the batch`)
    } else if (version !== before + 1) {
      throw new CatalogError(
        'ConcurrentModification',
        `cannot create version ${version} of ${formatIdentifierForMessage(id)}; the next version is ${before + 1}`,
      )
    }
    before = version
  }
  return scheme
}
