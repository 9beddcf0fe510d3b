import { InterfaceError, invalidInput } from '../../interface/errors.ts'
import type { Identifier } from '../../interface/identifiers.ts'
import { showIdentifier } from '../../interface/not-found.ts'
import type { RequestOf, ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import {
  findObject,
  insertTable,
  pathOf,
  setProperties,
  setTableState,
  type Properties,
  type TableEntry,
} from '../store/objects.ts'
import { removeTable } from '../store/removal.ts'
import { locationOf, type CatalogParts } from './catalog-parts.ts'
import { deleteData } from './delete-data.ts'
import { requireNamespace, tableAlreadyExists } from './lookup.ts'
import { findData } from './table-data.ts'

type Request = RequestOf<'CreateTable'>
type Response = ResponseOf<'CreateTable'>

/**
 * Creates a table from an Arrow IPC stream. Of a table that is there, ExistOk answers what it is and Overwrite
 * adds a version that replaces all rows and, if the request has them, the properties. A table that is only declared
 * gets its data in both modes, and keeps its properties in ExistOk; in Create, its name is taken (TableAlreadyExists,
 * 409).
 */
export async function createTable(
  catalog: CatalogParts,
  id: Identifier,
  request: Request,
  upload: Uint8Array,
): Promise<Response> {
  refuseLocation(request.location)
  if (Object.keys(request.storage_options ?? {}).length > 0) {
    throw new InterfaceError('Unsupported', 'storage_options are not supported by this catalog')
  }
  return await catalog.nameLock.run(pathOf(id), async () => {
    const { table, isNew } = await reserve(catalog, id, request)
    if (isNew) return await createNew(catalog, id, table, upload)
    return await catalog.dataLock.run(table.objectId, async () => {
      const isThere = await findData(catalog, table)
      if (isThere && request.mode === 'ExistOk') return await describe(catalog, table)
      const properties = request.mode === 'Overwrite' ? request.properties : undefined
      return await putData(catalog, table, isThere ? 'overwrite' : 'create', upload, properties)
    })
  })
}

/** Throws InvalidInput (400): where data lies is never a matter of the client. */
export function refuseLocation(location: string | undefined): void {
  if (location === undefined) return
  throw invalidInput('location is not supported; this catalog chooses the locations of its tables')
}

/** Finds the table, or reserves its name in the store before the engine writes anything. */
async function reserve(
  catalog: CatalogParts,
  id: Identifier,
  request: Request,
): Promise<{ table: TableEntry; isNew: boolean }> {
  return await catalog.database.transaction().execute(async (database) => {
    await requireNamespace(database, id.slice(0, -1))
    const there = await findObject(database, id)
    if (there?.kind === 'table' && there.state === 'creating') {
      // Its creator would hold the lock of the name, which is held here: it is no more.
      await removeTable(database, there.objectId)
    } else if (there !== undefined) {
      if (there.kind !== 'table' || request.mode === 'Create') throw tableAlreadyExists(id)
      return { table: there, isNew: false }
    }
    const table = await insertTable(database, id, 'creating', request.properties ?? {})
    if (table === undefined) throw tableAlreadyExists(id)
    return { table, isNew: true }
  })
}

/** Whoever drops the table meanwhile waits for the lock of its data, and deletes what was written. */
async function createNew(
  catalog: CatalogParts,
  id: Identifier,
  table: TableEntry,
  upload: Uint8Array,
): Promise<Response> {
  try {
    return await catalog.dataLock.run(table.objectId, () => createData(catalog, id, table, upload))
  } catch (error) {
    const removed = await catalog.database
      .transaction()
      .execute((database) => removeTable(database, table.objectId))
    await deleteData(catalog, removed)
    throw error
  }
}

async function createData(
  catalog: CatalogParts,
  id: Identifier,
  table: TableEntry,
  upload: Uint8Array,
): Promise<Response> {
  const location = locationOf(catalog, table)
  const { version } = await catalog.engine.create(location, upload, 'create')
  if (await setTableState(catalog.database, table.objectId, 'ready')) {
    return { location, version, properties: { ...table.properties } }
  }
  throw new InterfaceError('ConcurrentModification', `${showIdentifier(id)} was dropped during its creation`)
}

async function putData(
  catalog: CatalogParts,
  table: TableEntry,
  mode: 'create' | 'overwrite',
  upload: Uint8Array,
  properties: Properties = table.properties,
): Promise<Response> {
  const location = locationOf(catalog, table)
  const { version } = await catalog.engine.create(location, upload, mode)
  await catalog.database.transaction().execute(async (database) => {
    await setTableState(database, table.objectId, 'ready')
    await setProperties(database, table.objectId, properties)
  })
  return { location, version, properties: { ...properties } }
}

async function describe(catalog: CatalogParts, table: TableEntry): Promise<Response> {
  const location = locationOf(catalog, table)
  const latest = await catalog.manifests.describe(location, undefined, undefined)
  return {
    location,
    properties: { ...table.properties },
    ...(latest === undefined ? {} : { version: latest.version }),
  }
}
