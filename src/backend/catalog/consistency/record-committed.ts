import type { TableEntry } from '../../database/objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'

/**
 * Records what is committed in storage. If that fails, it logs `what` and returns undefined: an error would make the
 * client change the rows again, and a reader finds them without the record.
 */
export async function recordCommitted<Result>(
  context: CatalogContext,
  table: TableEntry,
  what: string,
  record: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await record()
  } catch (error) {
    context.log.error({ err: error, table: table.objectId }, `${what}: committed, but not recorded`)
    return undefined
  }
}
