import type { TableEntry } from '../store/objects.ts'
import { isUnfinished } from '../store/unfinished.ts'
import type { CatalogParts } from './catalog-parts.ts'

/*
 * The manifests of committed batches, from before the commit until they have their final names: one folder for each
 * table, `commits/<object id>`. Only who holds the lock of the commits of a table makes, uses and removes them; and
 * only when no record of the table is left that needs one.
 */

/** The whole name of a manifest that was put aside for a table. */
export function keptPathOf(catalog: CatalogParts, table: Pick<TableEntry, 'objectId'>, name: string): string {
  return `${keptFolder(catalog, table.objectId)}/${name}`
}

/** Removes what was put aside for a table, unless a record still needs it. */
export async function dropUnusedKept(catalog: CatalogParts, objectId: string): Promise<void> {
  if (await isUnfinished(catalog.database, objectId)) return
  await catalog.storage.removeAll(keptFolder(catalog, objectId))
}

/** The object ids of the tables for which something was put aside. */
export async function listKept(catalog: CatalogParts): Promise<readonly string[]> {
  return await catalog.storage.listFolders(`${catalog.root}/commits`)
}

function keptFolder(catalog: CatalogParts, objectId: string): string {
  return `${catalog.root}/commits/${objectId}`
}
