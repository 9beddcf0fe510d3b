import type { TableEntry } from '../../store/objects.ts'
import { hasPendingChanges } from '../../store/pending-deletions.ts'
import type { CatalogContext } from '../context/catalog-context.ts'

/*
 * Retained manifests of committed batches, kept from before the commit until they have their final names, in one folder
 * per table: `commits/<object id>`. Only a holder of the table's commit lock creates, uses or deletes them, and deletes
 * them only when no record of the table needs one.
 */

export function retainedManifestPath(
  catalog: CatalogContext,
  table: Pick<TableEntry, 'objectId'>,
  name: string,
): string {
  return `${retainedManifestsFolder(catalog, table.objectId)}/${name}`
}

/** Deletes the retained manifests of a table that no record refers to. */
export async function deleteUnusedRetainedManifests(
  catalog: CatalogContext,
  objectId: string,
): Promise<void> {
  if (await hasPendingChanges(catalog.database, objectId)) return
  await catalog.storage.removeAll(retainedManifestsFolder(catalog, objectId))
}

/** Returns object ids. */
export async function listTablesWithRetainedManifests(catalog: CatalogContext): Promise<readonly string[]> {
  return await catalog.storage.listFolders(`${catalog.root}/commits`)
}

function retainedManifestsFolder(catalog: CatalogContext, objectId: string): string {
  return `${catalog.root}/commits/${objectId}`
}
