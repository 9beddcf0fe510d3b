import { invalidInput } from '../../../catalog-api/catalog-error.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import type { TableEntry } from '../../store/objects.ts'
import { recordDeletedVersions } from '../../store/pending-deletions.ts'
import { normalizeBranch } from '../context/branches.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { changeReferences } from '../consistency/change-references.ts'
import { reconcileVersions } from '../consistency/reconcile-versions.ts'
import { resolvePoint } from '../consistency/table-point.ts'

const maxDeletedVersions = 1_000_000
const maxShownVersions = 5

/** Versions of one branch to delete, oldest first. */
interface VersionDeletion {
  readonly branch: string
  readonly versions: readonly number[]
}

/**
 * Deletes the manifests of the existing versions in the half-open ranges; rows shared with other versions stay. The
 * newest version, tagged versions and branch points are protected: a range that names one is refused with InvalidInput
 * (400). The end -1 means the newest version, exclusive: 0 to -1 deletes all others. All are deleted or none: if the
 * process ends after the commit, the next access to the table removes the manifests.
 */
export async function batchDeleteTableVersions(
  catalog: CatalogContext,
  id: Identifier,
  request: RequestOf<'BatchDeleteTableVersions'>,
): Promise<ResponseOf<'BatchDeleteTableVersions'>> {
  return await changeReferences(catalog, id, async (table) => {
    const deletion = await planDeletion(catalog, id, table, request)
    await catalog.database
      .transaction()
      .execute((database) =>
        recordDeletedVersions(database, table.objectId, deletion.branch, deletion.versions),
      )
    await reconcileVersions(catalog, table)
    return { deleted_count: deletion.versions.length }
  })
}

/** Determines which versions a request deletes; see `batchDeleteTableVersions`. The caller holds the commit lock. */
export async function planDeletion(
  catalog: CatalogContext,
  id: Identifier,
  table: TableEntry,
  request: RequestOf<'BatchDeleteTableVersions'>,
): Promise<VersionDeletion> {
  const { location, branch } = await resolvePoint(catalog, id, table, { branch: request.branch })
  const stored = await catalog.manifestStore.list(location, branch)
  const newest = stored[0]?.version ?? 0
  const ranges = readRanges(request.ranges, newest)
  const versions = stored
    .map(({ version }) => version)
    .filter((version) => ranges.some(({ start, end }) => version >= start && version < end))
    .toReversed()
  const needed = await findProtectedVersions(catalog, location, normalizeBranch(branch), newest)
  const refused = versions.filter((version) => needed.has(version))
  if (refused.length > 0) throw protectedVersionsError(refused, needed)
  return { branch: normalizeBranch(branch), versions }
}

interface VersionRange {
  readonly start: number
  readonly end: number
}

function readRanges(
  ranges: RequestOf<'BatchDeleteTableVersions'>['ranges'],
  newest: number,
): readonly VersionRange[] {
  const read = ranges.map(({ start_version: start, end_version: end }) => {
    if (end === -1) return { start, end: Math.max(start, newest) }
    if (end < start) throw invalidInput(`invalid range: start ${start}, end ${end}`)
    return { start, end }
  })
  const named = read.reduce((sum, { start, end }) => sum + end - start, 0)
  if (named > maxDeletedVersions) {
    throw invalidInput(`the ranges name ${named} versions; expected at most ${maxDeletedVersions}`)
  }
  return read
}

/** The versions of a branch that cannot be deleted, with the reason. */
async function findProtectedVersions(
  catalog: CatalogContext,
  location: string,
  branch: string,
  newest: number,
): Promise<ReadonlyMap<number, string>> {
  const needed = new Map([[newest, 'is the latest version']])
  for (const { version, branch: of } of (await catalog.engine.tags.list(location)).values()) {
    if (normalizeBranch(of) === branch) needed.set(version, 'has a tag')
  }
  for (const { parentVersion, parentBranch } of (await catalog.engine.branches.list(location)).values()) {
    if (normalizeBranch(parentBranch) === branch) needed.set(parentVersion, 'is the base of a branch')
  }
  return needed
}

function protectedVersionsError(refused: readonly number[], needed: ReadonlyMap<number, string>) {
  const shown = refused
    .slice(0, maxShownVersions)
    .map((version) => `version ${version} ${needed.get(version)}`)
  const more = refused.length > maxShownVersions ? ` and ${refused.length - maxShownVersions} more` : ''
  return invalidInput(`nothing was deleted: ${shown.join(', ')}${more}`)
}
