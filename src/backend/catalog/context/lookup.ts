import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import {
  namespaceNotFound,
  formatIdentifierForMessage,
  tableNotFound,
} from '../../../catalog-api/not-found.ts'
import { findObject, type NamespaceEntry, type TableEntry } from '../../store/objects.ts'
import type { CatalogDatabase } from '../../store/database-schema.ts'

/** The namespace of that id. Throws NamespaceNotFound (404). */
export async function requireNamespace(database: CatalogDatabase, id: Identifier): Promise<NamespaceEntry> {
  const found = await findObject(database, id)
  if (found?.kind === 'namespace') return found
  throw namespaceNotFound(id)
}

/**
 * The table of that id, declared or with data. Throws TableNotFound, or NamespaceNotFound where the namespace
 * above is not there either (both 404).
 */
export async function requireTable(database: CatalogDatabase, id: Identifier): Promise<TableEntry> {
  const found = await findObject(database, id)
  if (found?.kind === 'table' && found.state !== 'creating') return found
  await requireNamespace(database, id.slice(0, -1))
  throw tableNotFound(id)
}

/**
 * The table of that id, if it still is the one that was found before. Throws ConcurrentModification (409) when
 * another one has the id by now, and what `requireTable` throws.
 */
export async function requireSameTable(
  database: CatalogDatabase,
  id: Identifier,
  objectId: string,
): Promise<TableEntry> {
  const table = await requireTable(database, id)
  if (table.objectId === objectId) return table
  throw new CatalogError(
    'ConcurrentModification',
    `the table ${formatIdentifierForMessage(id)} was replaced while the request waited for a lock`,
  )
}

/** The 409 of a new table whose name is taken, by a table or by a namespace. */
export function tableAlreadyExistsError(id: Identifier): CatalogError {
  return new CatalogError(
    'TableAlreadyExists',
    `the name ${formatIdentifierForMessage(id)} is taken: it already exists`,
  )
}

/** The 409 of a new namespace whose name is taken, by a namespace or by a table. */
export function namespaceAlreadyExistsError(id: Identifier): CatalogError {
  return new CatalogError(
    'NamespaceAlreadyExists',
    `the name ${formatIdentifierForMessage(id)} is taken: it already exists`,
  )
}
