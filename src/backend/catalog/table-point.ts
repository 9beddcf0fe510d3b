import { InterfaceError, invalidInput } from '../../interface/errors.ts'
import { show, type Identifier } from '../../interface/identifiers.ts'
import { showIdentifier } from '../../interface/not-found.ts'
import type { TablePoint } from '../engine/engine.ts'
import type { TableTag } from '../engine/references.ts'
import type { TableEntry } from '../store/objects.ts'
import { branchNotFound, branchOf, mainBranch } from './branches.ts'
import { locationOf, type CatalogParts } from './catalog-parts.ts'
import { requireTableWithData } from './table-data.ts'

/** How requests name a point in the history of a table. Null is the same as absent. */
export interface PointRequest {
  readonly branch?: string | null | undefined
  readonly version?: number | null | undefined
  /** Stands for a branch and a version, so that it goes with neither. */
  readonly tag?: string | null | undefined
}

/**
 * The table of that id, which has data, and the point that a request names; what only writes passes no version.
 * Throws TableNotFound, TableBranchNotFound, TableTagNotFound or TableVersionNotFound (404), and InvalidInput
 * (400) for a tag together with a branch or a version.
 */
export async function requirePoint(
  catalog: CatalogParts,
  id: Identifier,
  request: PointRequest,
): Promise<{ readonly table: TableEntry; readonly point: TablePoint }> {
  const table = await requireTableWithData(catalog, id)
  return { table, point: await pointOf(catalog, id, table, request) }
}

/** The point of a table with data that a request names. Throws as `requirePoint` does. */
export async function pointOf(
  catalog: CatalogParts,
  id: Identifier,
  table: TableEntry,
  request: PointRequest,
): Promise<TablePoint> {
  const location = locationOf(catalog, table)
  const { branch, version } = await readReference(catalog, location, request)
  if (branch !== mainBranch && (await catalog.engine.branches.find(location, branch)) === undefined) {
    throw branchNotFound(branch)
  }
  const point = { location, branch: branch === mainBranch ? undefined : branch, version }
  if (version !== undefined) await requireVersion(catalog, id, { ...point, version })
  return point
}

async function readReference(
  catalog: CatalogParts,
  location: string,
  { branch, version, tag }: PointRequest,
): Promise<{ branch: string; version: number | undefined }> {
  if (tag == null || tag === '') return { branch: branchOf(branch), version: version ?? undefined }
  if (version != null || branch) throw invalidInput('tag cannot be combined with version or branch')
  const found = await requireTag(catalog, location, tag)
  return { branch: branchOf(found.branch), version: found.version }
}

async function requireVersion(
  catalog: CatalogParts,
  id: Identifier,
  { location, branch, version }: TablePoint,
): Promise<void> {
  if ((await catalog.manifests.describe(location, version, branch)) !== undefined) return
  throw new InterfaceError(
    'TableVersionNotFound',
    `the ${branch === undefined ? 'table' : `branch ${show(branch)} of`} ${showIdentifier(id)} has no version ${version}`,
  )
}

/** What a tag stands for. Throws TableTagNotFound (404). */
export async function requireTag(catalog: CatalogParts, location: string, tag: string): Promise<TableTag> {
  const found = await catalog.engine.tags.find(location, tag)
  if (found !== undefined) return found
  throw new InterfaceError('TableTagNotFound', `the table has no tag ${show(tag)}`)
}
