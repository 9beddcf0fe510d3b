import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TableEntry } from '../store/objects.ts'
import { isUnfinished } from '../store/unfinished.ts'
import type { CatalogParts } from './catalog-parts.ts'

/*
 * The manifests of committed batches, from before the commit until they have their final names: one folder for each
 * table, `commits/<object id>`. Only who holds the lock of the commits of a table makes, uses and removes them; and
 * only when no record of the table is left that needs one.
 */

/** The absolute path of a manifest that was put aside for a table. */
export function keptPathOf(catalog: CatalogParts, table: Pick<TableEntry, 'objectId'>, name: string): string {
  return join(keptFolder(catalog, table.objectId), name)
}

/** Removes what was put aside for a table, unless a record still needs it. */
export async function dropUnusedKept(catalog: CatalogParts, objectId: string): Promise<void> {
  if (await isUnfinished(catalog.database, objectId)) return
  await rm(keptFolder(catalog, objectId), { recursive: true, force: true })
}

/** The object ids of the tables for which something was put aside. */
export async function listKept(catalog: CatalogParts): Promise<readonly string[]> {
  return await readdir(join(catalog.dataFolder, 'commits'))
}

function keptFolder(catalog: CatalogParts, objectId: string): string {
  return join(catalog.dataFolder, 'commits', objectId)
}
