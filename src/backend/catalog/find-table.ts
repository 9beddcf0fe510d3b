import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  namespaceNotFound,
  tableNotFound,
  invalidInput,
  quoteForMessage,
} from 'catalog-gateway/catalog-api'
import {
  findObject,
  findTableById,
  updateObject,
  type NamespaceEntry,
  type TableEntry,
} from '../database/objects.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import { omitMainBranch } from '../engine/manifest/manifest.ts'
import { findManifest } from '../engine/manifest/manifest-files.ts'
import type { TablePoint } from '../engine/native/open-table.ts'
import { tableLocation, type CatalogContext, branchNotFoundError, mainBranch } from './context.ts'
import { reconcileIfPending } from './reconcile.ts'

/** Throws NamespaceNotFound (404). */
export async function requireNamespace(database: CatalogDatabase, id: Identifier): Promise<NamespaceEntry> {
  const found = await findObject(database, id)
  if (found?.kind === 'namespace') return found
  throw namespaceNotFound(id)
}

/** The table may be only declared. Throws TableNotFound, or NamespaceNotFound for its namespace (both 404). */
export async function requireTable(database: CatalogDatabase, id: Identifier): Promise<TableEntry> {
  const found = await findObject(database, id)
  if (found?.kind === 'table') return found
  await requireNamespace(database, id.slice(0, -1))
  throw tableNotFound(id)
}

/** Finds a table again under its lock. Throws ConcurrentModification (409) if another table has its id now. */
export async function requireSameTable(database: CatalogDatabase, { id, objectId }: TableEntry) {
  const table = await requireTable(database, id)
  if (table.objectId === objectId) return table
  throw new CatalogError(
    'ConcurrentModification',
    `the table ${formatIdentifierForMessage(id)} was replaced while the request waited for a lock`,
  )
}

export function alreadyExistsError(kind: 'Table' | 'Namespace', id: Identifier): CatalogError {
  return new CatalogError(
    `${kind}AlreadyExists`,
    `the name ${formatIdentifierForMessage(id)} is taken: it already exists`,
  )
}

/** Throws TableNotFound (404), also for a table that is only declared. */
export async function requireTableWithData(context: CatalogContext, id: Identifier): Promise<TableEntry> {
  const table = await requireTable(context.database, id)
  if (await hasData(context, table)) return table
  throw noDataError(table)
}

export function noDataError({ id }: TableEntry): CatalogError {
  const message = `the table ${formatIdentifierForMessage(id)} is declared but has no data yet`
  return new CatalogError('TableNotFound', message)
}

/** Whether a table has data; reconciles it first. The caller must not hold the data lock. */
export async function hasData(context: CatalogContext, table: TableEntry): Promise<boolean> {
  await reconcileIfPending(context, table.objectId)
  if (table.state === 'ready') return true
  return await context.dataLock.runExclusive(table.objectId, () => hasDataUnderLock(context, table))
}

/**
 * Whether a table has data. Also checks the location of a declared table, because a client may have written the data
 * itself. The caller holds the data lock. Throws ConcurrentModification (409) if the table no longer exists.
 */
export async function hasDataUnderLock(context: CatalogContext, table: TableEntry): Promise<boolean> {
  const found = await findTableById(context.database, table.objectId)
  if (found === undefined) {
    throw new CatalogError(
      'ConcurrentModification',
      'the table was dropped while the request waited for a lock',
    )
  }
  if (found.state === 'ready') return true
  const latest = await findManifest(context.storage, { location: tableLocation(context, table) })
  if (latest === undefined) return false
  await updateObject(context.database, table.objectId, { state: 'ready' })
  return true
}

/** A point in the history of a table as requests name it. */
export interface PointRequest extends Omit<TablePoint, 'location'> {
  /** Stands for a branch and a version, and excludes both. */
  readonly tag?: string | undefined
}

/**
 * Finds a table with data and resolves the requested point. Throws TableNotFound, TableBranchNotFound, TableTagNotFound
 * or TableVersionNotFound (404), and InvalidInput (400) for a tag together with a branch or a version.
 */
export async function requirePoint(context: CatalogContext, id: Identifier, request: PointRequest) {
  const table = await requireTableWithData(context, id)
  return { table, point: await resolvePoint(context, table, request) }
}

/** Resolves the requested point of a table with data. Throws like `requirePoint`. */
export async function resolvePoint(context: CatalogContext, table: TableEntry, request: PointRequest) {
  const location = tableLocation(context, table)
  const { tag } = request
  if (tag && (request.version !== undefined || request.branch))
    throw invalidInput('tag cannot be combined with version or branch')
  const named = tag ? await requireTag(context, location, tag) : request
  const branch = omitMainBranch(named.branch)
  if (branch !== undefined && (await context.engine.branches.find(location, branch)) === undefined)
    throw branchNotFoundError(branch)
  const { version } = named
  if (version === undefined) return { location, branch }
  const point = { location, branch, version }
  if ((await findManifest(context.storage, point)) === undefined)
    throw versionNotFoundError(table, branch, version)
  return point
}

export function versionNotFoundError({ id }: TableEntry, branch = mainBranch, version?: number) {
  const what = branch === mainBranch ? 'the table' : `the branch ${quoteForMessage(branch)} of the table`
  const message = `${what} ${formatIdentifierForMessage(id)} has no version ${version ?? ''}`.trim()
  return new CatalogError('TableVersionNotFound', message)
}

/** Throws TableTagNotFound (404). */
export async function requireTag(context: CatalogContext, location: string, tag: string) {
  const found = await context.engine.tags.find(location, tag)
  if (found !== undefined) return found
  throw new CatalogError('TableTagNotFound', `the table has no tag ${quoteForMessage(tag)}`)
}
