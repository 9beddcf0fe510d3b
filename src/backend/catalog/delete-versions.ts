import { type Identifier, invalidInput } from 'catalog-gateway/catalog-api'
import type { RequestOf } from '../schemas/operation-schemas.ts'
import type { TableEntry } from '../database/objects.ts'
import { recordDeletedVersions } from '../database/versions.ts'
import { normalizeBranch, type CatalogContext } from './context.ts'
import { resolvePoint } from './find-table.ts'
import { reconcileVersions } from './reconcile.ts'
import type { Operations } from './operations.ts'
import { changeReferences } from './table-locks.ts'

const maxDeletedVersions = 1_000_000
const maxShownVersions = 5

/** Versions of one branch to delete, oldest first. */
interface VersionDeletion {
  readonly branch: string
  readonly versions: readonly number[]
}

export const versionDeletion = {
  /**
   * Deletes the manifests of versions in half-open ranges; shared rows stay. A range that names the newest version, a
   * tagged version or a branch point is refused with InvalidInput (400). The end -1 includes the newest version, which a
   * table cannot lose: such a range is refused unless it is empty. All are deleted or none: if the process ends after the
   * commit, the next access to the table removes the manifests.
   */
  async BatchDeleteTableVersions(context, { id, request }) {
    return await changeReferences(context, id, async (table) => {
      const deletion = await planDeletion(context, id, table, request)
      await context.database
        .transaction()
        .execute((database) =>
          recordDeletedVersions(database, table.objectId, deletion.branch, deletion.versions),
        )
      await reconcileVersions(context, table)
      return { deleted_count: deletion.versions.length }
    })
  },
} satisfies Operations

/** Determines which versions a request deletes; see `batchDeleteTableVersions`. The caller holds the commit lock. */
export async function planDeletion(
  context: CatalogContext,
  id: Identifier,
  table: TableEntry,
  request: RequestOf<'BatchDeleteTableVersions'>,
): Promise<VersionDeletion> {
  const { location, branch } = await resolvePoint(context, id, table, { branch: request.branch })
  const stored = await context.manifestStore.list(location, branch)
  const newest = stored[0]?.version ?? 0
  const ranges = parseRanges(request.ranges, newest)
  const versions = stored
    .map(({ version }) => version)
    .filter((version) => ranges.some(({ start, end }) => version >= start && version < end))
    .toReversed()
  const protectedVersions = await findProtectedVersions(context, location, normalizeBranch(branch), newest)
  const refused = versions.filter((version) => protectedVersions.has(version))
  if (refused.length > 0) throw protectedVersionsError(refused, protectedVersions)
  return { branch: normalizeBranch(branch), versions }
}

interface VersionRange {
  readonly start: number
  readonly end: number
}

function parseRanges(
  ranges: RequestOf<'BatchDeleteTableVersions'>['ranges'],
  newest: number,
): readonly VersionRange[] {
  const parsed = ranges.map(({ start_version: start, end_version: end }) => {
    if (end === -1) return { start, end: Math.max(start, newest + 1) }
    if (end < start) throw invalidInput(`invalid range: start ${start}, end ${end}`)
    return { start, end }
  })
  const total = parsed.reduce((sum, { start, end }) => sum + end - start, 0)
  if (total > maxDeletedVersions) {
    throw invalidInput(`the ranges name ${total} versions; expected at most ${maxDeletedVersions}`)
  }
  return parsed
}

async function findProtectedVersions(
  context: CatalogContext,
  location: string,
  branch: string,
  newest: number,
): Promise<ReadonlyMap<number, string>> {
  const protectedVersions = new Map([[newest, 'is the latest version, which a table cannot lose']])
  for (const { version, branch: taggedBranch } of (await context.engine.tags.list(location)).values()) {
    if (normalizeBranch(taggedBranch) === branch) protectedVersions.set(version, 'has a tag')
  }
  for (const { parentVersion, parentBranch } of (await context.engine.branches.list(location)).values()) {
    if (normalizeBranch(parentBranch) === branch)
      protectedVersions.set(parentVersion, 'is the base of a branch')
  }
  return protectedVersions
}

function protectedVersionsError(refused: readonly number[], protectedVersions: ReadonlyMap<number, string>) {
  const shown = refused
    .slice(0, maxShownVersions)
    .map((version) => `version ${version} ${protectedVersions.get(version)}`)
  const more = refused.length > maxShownVersions ? ` and ${refused.length - maxShownVersions} more` : ''
  return invalidInput(`nothing was deleted: ${shown.join(', ')}${more}`)
}
