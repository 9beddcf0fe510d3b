import type { TableEntry } from '../../store/objects.ts'
import { hasPendingChanges } from '../../store/pending-deletions.ts'
import type { CatalogContext } from '../context/catalog-context.ts'

/*
 * The manifests of committed batches, from before the commit until they have their final names: one folder for each
 * table, `commits/<object id>`. Only who holds the lock of the commits of a table makes, uses and removes them; and
 * only when no record of the table is left that needs one.
 */

/** The whole name of a manifest that was put aside for a table. */
export function retainedManifestPath(
  catalog: CatalogContext,
  table: Pick<TableEntry, 'objectId'>,
  name: string,
): string {
  return `${retainedManifestsFolder(catalog, table.objectId)}/${name}`
}

/** Removes what was put aside for a table, unless a record still needs it. */
export async function deleteUnusedRetainedManifests(
  catalog: CatalogContext,
  objectId: string,
): Promise<void> {
  if (await hasPendingChanges(catalog.database, objectId)) return
  await catalog.storage.removeAll(retainedManifestsFolder(catalog, objectId))
}

/** The object ids of the tables for which something was put aside. */
export async function listTablesWithRetainedManifests(catalog: CatalogContext): Promise<readonly string[]> {
  return await catalog.storage.listFolders(`${catalog.root}/commits`)
}

function retainedManifestsFolder(catalog: CatalogContext, objectId: string): string {
  return `${catalog.root}/commits/${objectId}`
}
