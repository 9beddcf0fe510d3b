import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
  namespaceNotFound,
  formatIdentifier,
} from 'catalog-gateway/catalog-api'
import {
  findObject,
  insertNamespace,
  setProperties,
  listNamespaceNames,
  listTableNames,
  listTablePaths,
  type Slice,
  fromPath,
} from '../database/objects.ts'
import { hasChildren, removeNamespace } from '../database/removals.ts'
import { alreadyExistsError, requireNamespace } from './find-table.ts'
import { firstPageToken } from './pages.ts'
import type { Operations } from './operations.ts'
import { deleteLeftovers } from './repair.ts'

export const namespaceOperations = {
  /**
   * ExistOk returns an existing namespace unchanged. Overwrite replaces its properties but never deletes its content: a
   * non-empty namespace is NamespaceNotEmpty (409).
   */
  async CreateNamespace(context, { id, request }) {
    const properties = request.properties ?? {}
    if (id.length === 0) throw alreadyExistsError('Namespace', id)
    return await context.database.transaction().execute(async (database) => {
      await requireNamespace(database, id.slice(0, -1))
      if (await insertNamespace(database, id, properties)) return { properties }
      const existing = await findObject(database, id)
      if (existing?.kind !== 'namespace' || request.mode === 'Create')
        throw alreadyExistsError('Namespace', id)
      if (request.mode === 'ExistOk') return { properties: { ...existing.properties } }
      if (await hasChildren(database, existing.path))
        throw namespaceNotEmptyError(id, 'drop it with behavior Cascade first')
      await setProperties(database, existing.objectId, properties)
      return { properties }
    })
  },

  /** Lists the names of the direct child namespaces in the byte order of UTF-8. The token is the last name. */
  async ListNamespaces(context, { id, request }) {
    const { path } = await requireNamespace(context.database, id)
    const slice = toSlice(request)
    const names = await listNamespaceNames(context.database, path, slice)
    const { entries, token } = toPage(names, slice.after, request.limit)
    return { namespaces: entries, ...pageTokenMember(token) }
  },

  async NamespaceExists(context, { id }) {
    await requireNamespace(context.database, id)
  },

  /** Returns the properties of a namespace; the root has none. Throws NamespaceNotFound (404). */
  async DescribeNamespace(context, { id }) {
    const namespace = await requireNamespace(context.database, id)
    return { properties: { ...namespace.properties } }
  },

  /** Restrict refuses a non-empty namespace (409); Cascade also drops its content. Skip accepts a missing one. */
  async DropNamespace(context, { id, request }) {
    if (id.length === 0) throw invalidInput('the root namespace cannot be dropped')
    const dropped = await context.database.transaction().execute(async (database) => {
      const existing = await findObject(database, id)
      if (existing?.kind !== 'namespace') return undefined
      if (request.behavior === 'Restrict' && (await hasChildren(database, existing.path)))
        throw namespaceNotEmptyError(id, 'empty it, or use behavior Cascade')
      return {
        properties: { ...existing.properties },
        tables: await removeNamespace(database, existing.path),
      }
    })
    if (dropped === undefined) {
      if (request.mode === 'Skip') return {}
      throw namespaceNotFound(id)
    }
    await deleteLeftovers(context, dropped.tables, 'runExclusive')
    return { properties: dropped.properties }
  },

  async ListTables(context, { id, request }) {
    const { path } = await requireNamespace(context.database, id)
    const slice = toSlice(request)
    const names = await listTableNames(context.database, path, request.include_declared, slice)
    const { entries, token } = toPage(names, slice.after, request.limit)
    return { tables: entries, ...pageTokenMember(token) }
  },

  /**
   * Lists full ids, joined by the delimiter of the request. Throws InvalidInput (400) if a name contains the delimiter.
   */
  async ListAllTables(context, { delimiter, request }) {
    const slice = toSlice({ ...request, page_token: decodeToken(request.page_token) })
    const paths = await listTablePaths(context.database, request.include_declared, slice)
    const { entries, token } = toPage(paths, slice.after, request.limit)
    return {
      tables: entries.map((path) => formatIdentifier(fromPath(path), delimiter)),
      ...pageTokenMember(token === undefined ? undefined : Buffer.from(token).toString('base64url')),
    }
  },
} satisfies Operations

function namespaceNotEmptyError(id: Identifier, remedy: string): CatalogError {
  const message = `the namespace ${formatIdentifierForMessage(id)} is not empty; ${remedy}`
  return new CatalogError('NamespaceNotEmpty', message)
}

interface PageRequest {
  readonly page_token?: string | undefined
  readonly limit?: number | undefined
}

/** Requests one entry more than the page holds, to learn whether another page follows. */
function toSlice({ page_token: token, limit }: PageRequest): Slice {
  return {
    after: token === undefined || token === '' ? undefined : token,
    limit: limit === undefined ? undefined : limit + 1,
  }
}

/** The token is the last name if another page follows; for an empty page, that of the request. */
function toPage(
  found: string[],
  after: string | undefined,
  limit: number | undefined,
): { entries: string[]; token: string | undefined } {
  if (limit === undefined || found.length <= limit) return { entries: found, token: undefined }
  const entries = found.slice(0, limit)
  return { entries, token: entries.at(-1) ?? after ?? firstPageToken }
}

function pageTokenMember(token: string | undefined): { page_token?: string } {
  return token === undefined ? {} : { page_token: token }
}

function decodeToken(token: string | undefined): string | undefined {
  return token === undefined ? undefined : Buffer.from(token, 'base64url').toString()
}
