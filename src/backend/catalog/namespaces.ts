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
  fromPath,
  hasChildren,
  insertObject,
  listNames,
  removeObject,
  updateObject,
} from '../database/objects.ts'
import { alreadyExistsError, requireNamespace } from './find-table.ts'
import { takePage } from './pages.ts'
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
    return await context.transact(async (database) => {
      await requireNamespace(database, id.slice(0, -1))
      if (await insertObject(database, id, properties)) return { properties }
      const existing = await findObject(database, id)
      if (existing?.kind !== 'namespace' || request.mode === 'Create')
        throw alreadyExistsError('Namespace', id)
      if (request.mode === 'ExistOk') return { properties: { ...existing.properties } }
      if (await hasChildren(database, existing.path))
        throw namespaceNotEmptyError(id, 'drop it with behavior Cascade first')
      await updateObject(database, existing.objectId, { properties })
      return { properties }
    })
  },

  /** Lists the names of the direct child namespaces in the byte order of UTF-8. The token is the last name. */
  async ListNamespaces(context, { id, request }) {
    const { path } = await requireNamespace(context.database, id)
    const names = await listNames(context.database, 'namespaces', path, request)
    const { entries, token } = takePage(names, (name) => name, request)
    return { namespaces: entries, ...token }
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
    const dropped = await context.transact(async (database) => {
      const existing = await findObject(database, id)
      if (existing?.kind !== 'namespace') return undefined
      if (request.behavior === 'Restrict' && (await hasChildren(database, existing.path)))
        throw namespaceNotEmptyError(id, 'empty it, or use behavior Cascade')
      return {
        properties: { ...existing.properties },
        tables: await removeObject(database, existing.path),
      }
    })
    if (dropped === undefined) {
      if (request.mode === 'Skip') return {}
      throw namespaceNotFound(id)
    }
    await deleteLeftovers(context, dropped.tables)
    return { properties: dropped.properties }
  },

  async ListTables(context, { id, request }) {
    const { path } = await requireNamespace(context.database, id)
    const objects = request.include_declared ? 'tables' : 'tables with data'
    const names = await listNames(context.database, objects, path, request)
    const { entries, token } = takePage(names, (name) => name, request)
    return { tables: entries, ...token }
  },

  /**
   * Lists full ids, joined by the delimiter of the request. Throws InvalidInput (400) if a name contains the delimiter.
   */
  async ListAllTables(context, { delimiter, request }) {
    const { page_token: sent = '', limit } = request
    const page = { page_token: Buffer.from(sent, 'base64url').toString(), limit }
    const objects = request.include_declared ? 'tables' : 'tables with data'
    const paths = await listNames(context.database, objects, undefined, page)
    const { entries, token } = takePage(paths, (path) => path, page)
    const next = token.page_token
    return {
      tables: entries.map((path) => formatIdentifier(fromPath(path), delimiter)),
      ...(next !== undefined && { page_token: Buffer.from(next).toString('base64url') }),
    }
  },
} satisfies Operations

function namespaceNotEmptyError(id: Identifier, remedy: string): CatalogError {
  const message = `the namespace ${formatIdentifierForMessage(id)} is not empty; ${remedy}`
  return new CatalogError('NamespaceNotEmpty', message)
}
