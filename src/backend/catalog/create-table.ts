import { CatalogError, type Identifier, invalidInput } from 'catalog-gateway/catalog-api'
import { type RequestOf, type ResponseOf } from '../schemas/operation-schemas.ts'
import {
  chooseLocation,
  deleteLeftoverRecord,
  findObject,
  insertObject,
  recordLeftover,
  updateObject,
  type Properties,
  type TableEntry,
} from '../database/objects.ts'
import { findManifest } from '../engine/manifest/manifest-files.ts'
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
    for (;;) {
      await requireNamespace(context.database, id.slice(0, -1))
      const existing = await findObject(context.database, id)
      if (existing !== undefined) {
        if (existing.kind !== 'table' || request.mode === 'Create') throw alreadyExistsError('Table', id)
        return await replaceData(context, existing, request, upload)
      }
      const created = await createNew(context, id, request, upload)
      // Another request took the name meanwhile.
      if (created !== undefined) return created
    }
  },
} satisfies Operations

/** Throws InvalidInput (400) for a location, or one in the properties: clients cannot choose where data is stored. */
export function rejectLocation(request: Pick<Request, 'location' | 'properties'>): void {
  const { location, properties } = request
  if (location === undefined && properties?.['location'] === undefined) return
  const sent = location === undefined ? 'properties.location' : 'location'
  throw invalidInput(`${sent} is not supported; this catalog chooses the locations of its tables`)
}

/**
 * Writes the data at a new location, which is a leftover until the table is recorded: after a crash, a repair deletes it.
 * Returns undefined if the name was taken meanwhile.
 */
async function createNew(
  context: CatalogContext,
  id: Identifier,
  { properties = {} }: Request,
  upload: Uint8Array,
): Promise<Response | undefined> {
  const { database, dataLock, engine, transact } = context
  const table = chooseLocation()
  const location = tableLocation(context, table)
  let created: Response | undefined
  try {
    created = await dataLock.runExclusive(table.objectId, async () => {
      await recordLeftover(database, table)
      const { version } = await engine.create(location, upload, 'create')
      const isRecorded = await transact(async (transaction) => {
        await requireNamespace(transaction, id.slice(0, -1))
        const row = { ...table, state: 'ready' } as const
        if (!(await insertObject(transaction, id, properties, row))) return false
        if (await deleteLeftoverRecord(transaction, table.objectId)) return true
        // This process lost its locks, and another replica took the data for that of a dead one.
        throw new CatalogError('ConcurrentModification', 'the data was deleted during the creation; retry')
      })
      return isRecorded ? { location, version, properties } : undefined
    })
  } finally {
    if (created === undefined) await deleteLeftovers(context, [table])
  }
  return created
}

async function replaceData(
  context: CatalogContext,
  table: TableEntry,
  request: Request,
  upload: Uint8Array,
): Promise<Response> {
  return await context.dataLock.runExclusive(table.objectId, async () => {
    const location = tableLocation(context, table)
    const tableHasData = await hasDataUnderLock(context, table)
    if (tableHasData && request.mode === 'ExistOk') {
      const latest = await findManifest(context.storage, { location })
      return { location, version: latest?.version, properties: { ...table.properties } }
    }
    const { version } = await context.engine.create(location, upload, tableHasData ? 'overwrite' : 'create')
    const sent = request.mode === 'Overwrite' ? request.properties : undefined
    return { location, version, properties: await recordData(context, table, sent) }
  })
}

/** Records that a table has data now, and its new properties. Returns the properties that are recorded. */
export async function recordData(
  context: CatalogContext,
  table: TableEntry,
  properties?: Properties,
): Promise<Record<string, string>> {
  const recorded = await recordCommitted(context, table, 'rows of a table', async () => {
    await updateObject(context.database, table.objectId, {
      state: 'ready',
      ...(properties && { properties }),
    })
    return properties
  })
  return { ...(recorded ?? table.properties) }
}
