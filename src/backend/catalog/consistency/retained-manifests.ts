import type { TableEntry } from '../../database/objects.ts'
import { hasPendingChanges } from '../../database/pending-deletions.ts'
import type { CatalogContext } from '../context/catalog-context.ts'

/*
 * Retained manifests of committed batches, one folder per table: `commits/<object id>`. Only a holder of the commit
 * lock creates, uses or deletes them.
 */

export function retainedManifestPath(
  context: CatalogContext,
  table: Pick<TableEntry, 'objectId'>,
  name: string,
): string {
  return `${retainedManifestsFolder(context, table.objectId)}/${name}`
}

export async function deleteUnusedRetainedManifests(
  context: CatalogContext,
  objectId: string,
): Promise<void> {
  if (await hasPendingChanges(context.database, objectId)) return
  await context.storage.removeAll(retainedManifestsFolder(context, objectId))
}

/** Returns object ids. */
export async function listTablesWithRetainedManifests(context: CatalogContext): Promise<readonly string[]> {
  return await context.storage.listFolders(`${context.root}/commits`)
}

function retainedManifestsFolder(context: CatalogContext, objectId: string): string {
  return `${context.root}/commits/${objectId}`
}
