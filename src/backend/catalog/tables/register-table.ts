import { CatalogError, invalidInput } from '../../../catalog-api/catalog-error.ts'
import { quoteForMessage, type Identifier } from '../../../catalog-api/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import { findObject, insertRegisteredTable, setProperties, type TableEntry } from '../../store/objects.ts'
import { isLocationTaken, releaseTable } from '../../store/remove-objects.ts'
import type { CatalogDatabase } from '../../store/database-schema.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { lockTables } from '../consistency/lock-tables.ts'
import { requireNamespace, requireSameTable, tableAlreadyExistsError } from '../context/lookup.ts'

type Request = RequestOf<'RegisterTable'>

/** The folder that contains every location that can be registered. */
const registrationFolder = 'tables'

/**
 * Adds an existing dataset as a table. `location` is relative to the folder `tables` of the data folder and ends in
 * `.lance`; it may name subfolders. Overwrite replaces the table of that name and keeps the old data, like
 * DeregisterTable. Throws TableAlreadyExists (409) if the name is taken or the dataset belongs to another table;
 * InvalidInput (400) for any other location.
 */
export async function registerTable(
  catalog: CatalogContext,
  id: Identifier,
  request: Request,
): Promise<ResponseOf<'RegisterTable'>> {
  const location = `${registrationFolder}/${readLocation(request.location)}`
  await requireDataset(catalog, location)
  const properties = request.properties ?? {}
  const there = await findObject(catalog.database, id)
  const replaced = request.mode === 'Overwrite' && there?.kind === 'table' ? there : undefined
  await lockTables(catalog, replaced === undefined ? [] : [replaced], () =>
    catalog.database.transaction().execute(async (database) => {
      await requireNamespace(database, id.slice(0, -1))
      if (replaced?.location === location) {
        await requireSameTable(database, id, replaced.objectId)
        return await setProperties(database, replaced.objectId, properties)
      }
      if (replaced !== undefined) await releaseExisting(database, id, replaced)
      if (await isLocationTaken(database, location)) throw locationTakenError(request.location)
      if (!(await insertRegisteredTable(database, id, location, properties)))
        throw tableAlreadyExistsError(id)
    }),
  )
  return { location: tableLocation(catalog, { location }), properties }
}

async function releaseExisting(database: CatalogDatabase, id: Identifier, table: TableEntry): Promise<void> {
  await requireSameTable(database, id, table.objectId)
  await releaseTable(database, table.objectId)
}

/**
 * No folder on the path is a dataset, so datasets never nest: two different locations share no file, and it is enough
 * that locations are unique.
 */
function readLocation(location: string): string {
  const segments = location.split('/')
  const folders = segments.slice(0, -1)
  const fits =
    segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..') &&
    !/[\p{Cc}\p{Cs}\\:]/u.test(location) &&
    /.\.lance$/.test(location) &&
    !folders.some((folder) => folder.toLowerCase().endsWith('.lance'))
  if (fits) return location
  throw invalidInput(
    `location is ${quoteForMessage(location)}; expected a relative path to a dataset in the folder of the tables of this ` +
      'catalog: names joined by "/", the last one ending in ".lance"',
  )
}

/** Throws InvalidInput unless the location contains a dataset that the engine can read, without links. */
async function requireDataset(catalog: CatalogContext, location: string): Promise<void> {
  const folder = tableLocation(catalog, { location })
  try {
    await catalog.manifestStore.assertConfined(catalog.root, folder)
    await catalog.engine.describe(folder)
  } catch (error) {
    if (!(error instanceof CatalogError) || error.status >= 500) throw error
    throw invalidInput('location: no readable dataset found', { cause: error })
  }
}

function locationTakenError(location: string): CatalogError {
  return new CatalogError(
    'TableAlreadyExists',
    `the dataset at ${quoteForMessage(location)} belongs to a table that exists`,
  )
}
