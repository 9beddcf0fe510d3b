import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
  quoteForMessage,
} from 'catalog-gateway/catalog-api'
import type { TablePoint } from '../../engine/table-point.ts'
import type { TableTag } from '../../engine/tables/tags-and-branches.ts'
import type { TableEntry } from '../../database/objects.ts'
import { branchNotFoundError, normalizeBranch, mainBranch } from '../context/branches.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requireTableWithData } from './table-data.ts'

/** A point in the history of a table as requests name it. Null is the same as absent. */
export interface PointRequest {
  readonly branch?: string | null | undefined
  readonly version?: number | null | undefined
  /** Stands for a branch and a version, and excludes both. */
  readonly tag?: string | null | undefined
}

/**
 * Finds a table with data and resolves the requested point. Throws TableNotFound, TableBranchNotFound, TableTagNotFound
 * or TableVersionNotFound (404), and InvalidInput (400) for a tag together with a branch or a version.
 */
export async function requirePoint(
  context: CatalogContext,
  id: Identifier,
  request: PointRequest,
): Promise<{ readonly table: TableEntry; readonly point: TablePoint }> {
  const table = await requireTableWithData(context, id)
  return { table, point: await resolvePoint(context, id, table, request) }
}

/** Resolves the requested point of a table with data. Throws like `requirePoint`. */
export async function resolvePoint(
  context: CatalogContext,
  id: Identifier,
  table: TableEntry,
  request: PointRequest,
): Promise<TablePoint> {
  const location = tableLocation(context, table)
  const { branch, version } = await resolveReference(context, location, request)
  if (branch !== mainBranch && (await context.engine.branches.find(location, branch)) === undefined) {
    throw branchNotFoundError(branch)
  }
  const point = { location, branch: branch === mainBranch ? undefined : branch, version }
  if (version !== undefined) await requireVersion(context, id, { ...point, version })
  return point
}

async function resolveReference(
  context: CatalogContext,
  location: string,
  { branch, version, tag }: PointRequest,
): Promise<{ branch: string; version: number | undefined }> {
  if (tag == null || tag === '') return { branch: normalizeBranch(branch), version: version ?? undefined }
  if (version != null || branch) throw invalidInput('tag cannot be combined with version or branch')
  const found = await requireTag(context, location, tag)
  return { branch: normalizeBranch(found.branch), version: found.version }
}

async function requireVersion(
  context: CatalogContext,
  id: Identifier,
  { location, branch, version }: TablePoint,
): Promise<void> {
  if ((await context.manifestStore.describe(location, version, branch)) !== undefined) return
  throw new CatalogError(
    'TableVersionNotFound',
    `the ${branch === undefined ? 'table' : `branch ${quoteForMessage(branch)} of`} ${formatIdentifierForMessage(id)} has no version ${version}`,
  )
}

/** Throws TableTagNotFound (404). */
export async function requireTag(context: CatalogContext, location: string, tag: string): Promise<TableTag> {
  const found = await context.engine.tags.find(location, tag)
  if (found !== undefined) return found
  throw new CatalogError('TableTagNotFound', `the table has no tag ${quoteForMessage(tag)}`)
}
