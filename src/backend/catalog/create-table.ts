import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
} from 'catalog-gateway/catalog-api'
import { type RequestOf, type ResponseOf } from '../schemas/operation-schemas.ts'
import {
  findObject,
  insertTable,
  removeTable,
  toPath,
  updateObject,
  type Properties,
  type TableEntry,
} from '../database/objects.ts'
import { tableLocation, type CatalogContext } from './context.ts'
import { requireNamespace, alreadyExistsError, hasDataUnderLock } from './find-table.ts'
import { recordCommitted } from './reconcile.ts'
import type { Operations } from './operations.ts'
import { deleteLeftovers } from './repair.ts'

type Request = RequestOf<'CreateTable'>
type Response = ResponseOf<'CreateTable'>

export const tableCreation = {
  /**
   * For an existing table, ExistOk returns its description and Overwrite adds a version that replaces all rows and, if
   * sent, the properties. Both add the data of a declared table (ExistOk keeps its properties); with Create, its name is
   * taken (409).
   */
  async CreateTable(context, { id, request, upload }) {
    rejectLocation(request)
    if (Object.keys(request.storage_options ?? {}).length > 0) {
      throw new CatalogError('Unsupported', 'storage_options are not supported by this catalog')
    }
    return await context.nameLock.runExclusive(toPath(id), async () => {
      const { table, isNew } = await reserveName(context, id, request)
      if (isNew) return await createNew(context, id, table, upload)
      return await context.dataLock.runExclusive(table.objectId, async () => {
        const tableHasData = await hasDataUnderLock(context, table)
        if (tableHasData && request.mode === 'ExistOk') return await describe(context, table)
        const properties = request.mode === 'Overwrite' ? request.properties : undefined
        return await writeData(context, table, tableHasData ? 'overwrite' : 'create', upload, properties)
      })
    })
  },
} satisfies Operations

/** Throws InvalidInput (400) for a location, or one in the properties: clients cannot choose where data is stored. */
export function rejectLocation(request: Pick<Request, 'location' | 'properties'>): void {
  const { location, properties } = request
  if (location === undefined && properties?.['location'] === undefined) return
  const sent = location === undefined ? 'properties.location' : 'location'
  throw invalidInput(`${sent} is not supported; this catalog chooses the locations of its tables`)
}

/** Finds the table, or reserves its name in the database before the engine writes anything. */
async function reserveName(
  context: CatalogContext,
  id: Identifier,
  request: Request,
): Promise<{ table: TableEntry; isNew: boolean }> {
  return await context.database.transaction().execute(async (database) => {
    await requireNamespace(database, id.slice(0, -1))
    const existing = await findObject(database, id)
    if (existing?.kind === 'table' && existing.state === 'creating') {
      // Its creator would hold the name lock, which is held here: the creation was interrupted.
      await removeTable(database, existing.objectId)
    } else if (existing !== undefined) {
      if (existing.kind !== 'table' || request.mode === 'Create') throw alreadyExistsError('Table', id)
      return { table: existing, isNew: false }
    }
    const table = await insertTable(database, id, 'creating', request.properties ?? {})
    if (table === undefined) throw alreadyExistsError('Table', id)
    return { table, isNew: true }
  })
}

/** A concurrent drop waits for the data lock and then deletes what was written. */
async function createNew(
  context: CatalogContext,
  id: Identifier,
  table: TableEntry,
  upload: Uint8Array,
): Promise<Response> {
  try {
    return await context.dataLock.runExclusive(table.objectId, () => createData(context, id, table, upload))
  } catch (error) {
    const removed = await context.database
      .transaction()
      .execute((database) => removeTable(database, table.objectId))
    await deleteLeftovers(context, removed, 'runExclusive')
    throw error
  }
}

async function createData(
  context: CatalogContext,
  id: Identifier,
  table: TableEntry,
  upload: Uint8Array,
): Promise<Response> {
  const location = tableLocation(context, table)
  const { version } = await context.engine.create(location, upload, 'create')
  const isVisible = await updateObject(context.database, table.objectId, { state: 'ready' })
  if (isVisible) return { location, version, properties: { ...table.properties } }
  throw new CatalogError(
    'ConcurrentModification',
    `${formatIdentifierForMessage(id)} was dropped during its creation`,
  )
}

async function writeData(
  context: CatalogContext,
  table: TableEntry,
  mode: 'create' | 'overwrite',
  upload: Uint8Array,
  properties: Properties = table.properties,
): Promise<Response> {
  const location = tableLocation(context, table)
  const { version } = await context.engine.create(location, upload, mode)
  const recorded = await recordCommitted(context, table, 'replaced rows of a table', () =>
    updateObject(context.database, table.objectId, { state: 'ready', properties }),
  )
  return { location, version, properties: { ...(recorded === undefined ? table.properties : properties) } }
}

async function describe(context: CatalogContext, table: TableEntry): Promise<Response> {
  const location = tableLocation(context, table)
  const latest = await context.manifestStore.describe(location, undefined, undefined)
  return {
    location,
    properties: { ...table.properties },
    ...(latest === undefined ? {} : { version: latest.version }),
  }
}
