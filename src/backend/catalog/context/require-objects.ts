import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  namespaceNotFound,
  tableNotFound,
} from 'catalog-gateway/catalog-api'
import { findObject, type NamespaceEntry, type TableEntry } from '../../database/objects.ts'
import type { CatalogDatabase } from '../../database/database-schema.ts'

/** Throws NamespaceNotFound (404). */
export async function requireNamespace(database: CatalogDatabase, id: Identifier): Promise<NamespaceEntry> {
  const found = await findObject(database, id)
  if (found?.kind === 'namespace') return found
  throw namespaceNotFound(id)
}

/** The table may be only declared. Throws TableNotFound, or NamespaceNotFound for its namespace (both 404). */
export async function requireTable(database: CatalogDatabase, id: Identifier): Promise<TableEntry> {
  const found = await findObject(database, id)
  if (found?.kind === 'table' && found.state !== 'creating') return found
  await requireNamespace(database, id.slice(0, -1))
  throw tableNotFound(id)
}

/** Finds the table again under its lock. Throws ConcurrentModification (409) if another table has the id now. */
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

export function tableAlreadyExistsError(id: Identifier): CatalogError {
  return new CatalogError(
    'TableAlreadyExists',
    `the name ${formatIdentifierForMessage(id)} is taken: it already exists`,
  )
}

export function namespaceAlreadyExistsError(id: Identifier): CatalogError {
  return new CatalogError(
    'NamespaceAlreadyExists',
    `the name ${formatIdentifierForMessage(id)} is taken: it already exists`,
  )
}
