import { type Identifier, invalidInput } from 'catalog-gateway/catalog-api'
import type { RequestOf } from '../schemas/operation-schemas.ts'
import type { TableEntry } from '../database/objects.ts'
import { listManifests } from '../engine/manifest/manifest-files.ts'
import { normalizeBranch, type CatalogContext } from './context.ts'
import { resolvePoint } from './find-table.ts'

/**
 * Determines which versions of a branch BatchDeleteTableVersions deletes, oldest first. The end -1 includes the newest
 * version. Throws InvalidInput (400) for a range that names the newest version, which a table cannot lose, a tagged version
 * or a branch point. The caller holds the commit lock.
 */
export async function planDeletion(
  context: CatalogContext,
  id: Identifier,
  table: TableEntry,
  { branch: requested, ranges }: RequestOf<'BatchDeleteTableVersions'>,
): Promise<{ readonly branch: string; readonly versions: readonly number[] }> {
  const { location } = await resolvePoint(context, id, table, { branch: requested })
  const branch = normalizeBranch(requested)
  const stored = await listManifests(context.storage, { location, branch })
  for (const { start_version: start, end_version: end } of ranges) {
    if (end !== -1 && end < start) throw invalidInput(`invalid range: start ${start}, end ${end}`)
  }
  const isNamed = (version: number): boolean =>
    ranges.some(
      ({ start_version: start, end_version: end }) => version >= start && (version < end || end === -1),
    )
  const versions = stored.flatMap(({ version }) => (isNamed(version) ? [version] : [])).toReversed()
  const { branches, tags } = context.engine
  const reasons = new Map([[stored[0]?.version, 'is the latest version, which a table cannot lose']])
  for (const { version, branch: taggedBranch } of (await tags.list(location)).values()) {
    if (normalizeBranch(taggedBranch) === branch) reasons.set(version, 'has a tag')
  }
  for (const { parentVersion, parentBranch } of (await branches.list(location)).values()) {
    if (normalizeBranch(parentBranch) === branch) reasons.set(parentVersion, 'is the base of a branch')
  }
  const refused = versions.find((version) => reasons.has(version))
  if (refused === undefined) return { branch, versions }
  throw invalidInput(`nothing was deleted: version ${refused} ${reasons.get(refused)}`)
}
