import { CatalogError, type Identifier, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { type ResponseOf } from '../schemas/operation-schemas.ts'
import {
  chooseLocation,
  findObject,
  insertObject,
  isLocationTaken,
  releaseTable,
  updateObject,
  type Properties,
  type TableEntry,
} from '../database/objects.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import { tableLocation, type CatalogContext } from './context.ts'
import { requireNamespace, requireSameTable, alreadyExistsError, requireTable } from './find-table.ts'
import { toCatalogError } from './known-errors.ts'
import type { Operations } from './operations.ts'
import { lockTables } from './table-locks.ts'

const registrationFolder = 'tables'

export const registrations = {
  /**
   * Adds an existing dataset as a table. `location` is relative to the folder `tables` and ends in `.lance`. Overwrite
   * replaces the table of that name and keeps the old data. Throws TableAlreadyExists (409) if the name is taken or the
   * dataset belongs to another table; InvalidInput (400) for any other location.
   */
  async RegisterTable(context, { id, request }) {
    const location = `${registrationFolder}/${parseLocation(request.location)}`
    const properties = request.properties ?? {}
    // So that the dataset is not deleted meanwhile.
    await context.locationLock.runExclusive(location, async () => {
      await requireDataset(context, location)
      const existing = await findObject(context.database, id)
      const replaced = request.mode === 'Overwrite' && existing?.kind === 'table' ? existing : undefined
      await lockTables(context, replaced === undefined ? [] : [replaced], () =>
        context.transact((database) => recordTable(database, id, replaced, location, properties)),
      )
    })
    return { location: tableLocation(context, { location }), properties }
  },

  /** Removes a table and keeps its data, which RegisterTable can add again. Throws TableNotFound (404). */
  async DeregisterTable(context, { id }) {
    const table = await requireTable(context.database, id)
    return await lockTables(context, [table], () =>
      context.transact((database) => deregisterInTransaction(context, database, table)),
    )
  },
} satisfies Operations

async function recordTable(
  database: CatalogDatabase,
  id: Identifier,
  replaced: TableEntry | undefined,
  location: string,
  properties: Properties,
): Promise<void> {
  await requireNamespace(database, id.slice(0, -1))
  if (replaced !== undefined) await requireSameTable(database, replaced)
  if (replaced?.location === location) {
    await updateObject(database, replaced.objectId, { properties })
    return
  }
  if (replaced !== undefined) await releaseTable(database, replaced.objectId)
  if (await isLocationTaken(database, location))
    throw new CatalogError('TableAlreadyExists', 'the dataset belongs to a table that exists')
  const table = { ...chooseLocation(), location, state: 'ready' } as const
  if (!(await insertObject(database, id, properties, table))) throw alreadyExistsError('Table', id)
}

/** No folder on the path is a dataset: datasets never nest, so unique locations share no file. */
function parseLocation(location: string): string {
  const segments = location.split('/')
  const folders = segments.slice(0, -1)
  const isValid =
    segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..') &&
    !/[\p{Cc}\p{Cs}\\:]/u.test(location) &&
    /.\.lance$/.test(location) &&
    !folders.some((folder) => folder.toLowerCase().endsWith('.lance'))
  if (isValid) return location
  throw invalidInput(
    `location is ${quoteForMessage(location)}; expected a relative path to a dataset in the folder of the tables of this ` +
      'catalog: names joined by "/", the last one ending in ".lance"',
  )
}

/** Throws InvalidInput unless the location contains a dataset that the engine can read, without links. */
async function requireDataset(context: CatalogContext, location: string): Promise<void> {
  const folder = tableLocation(context, { location })
  try {
    await context.storage.assertConfined(context.root, folder)
    await context.engine.describe({ location: folder })
  } catch (error) {
    if (toCatalogError(error).status >= 500) throw error
    throw invalidInput('location: no readable dataset found', { cause: error })
  }
}

/** Deregisters a table in a transaction; see `deregisterTable`. The caller holds its locks. */
export async function deregisterInTransaction(
  context: CatalogContext,
  database: CatalogDatabase,
  table: TableEntry,
): Promise<ResponseOf<'DeregisterTable'>> {
  const { id, objectId, properties } = await requireSameTable(database, table)
  await releaseTable(database, objectId)
  return { id, location: tableLocation(context, table), properties: { ...properties } }
}
