import { randomBytes } from 'node:crypto'
import type { Identifier } from 'catalog-gateway/catalog-api'
import type { ExpressionBuilder } from 'kysely'
import type { CatalogDatabase, CatalogTables, TableState } from './schema.ts'

export type Properties = Readonly<Record<string, string>>

export function parseProperties(text: string): Properties {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the functions of this folder
  return JSON.parse(text) as Properties
}

type ObjectEntry = NonNullable<Awaited<ReturnType<typeof find>>>

export type NamespaceEntry = Extract<ObjectEntry, { kind: 'namespace' }>

/** `location` is relative to the data folder of the catalog. */
export type TableEntry = Extract<ObjectEntry, { kind: 'table' }>

/** The data of a table, which may have been removed. */
export type TableFolder = Pick<TableEntry, 'objectId' | 'location'>

/** Names cannot contain a slash. */
function toPath(id: Identifier): string {
  return id.join('/')
}

export function fromPath(path: string): Identifier {
  return path === '' ? [] : path.split('/')
}

export async function findObject(database: CatalogDatabase, id: Identifier) {
  return await find(database, 'path', toPath(id))
}

export async function findTableById(database: CatalogDatabase, objectId: string) {
  const entry = await find(database, 'objectId', objectId)
  return entry?.kind === 'table' ? entry : undefined
}

async function find(database: CatalogDatabase, key: 'path' | 'objectId', value: string) {
  const row = await database.selectFrom('objects').selectAll().where(key, '=', value).executeTakeFirst()
  if (row === undefined) return undefined
  const { objectId, path, properties, location, state } = row
  const entry = { objectId, id: fromPath(path), path, properties: parseProperties(properties) }
  if (location === null || state === null) return { ...entry, kind: 'namespace' as const }
  return { ...entry, kind: 'table' as const, location, state }
}

/** Chooses the id and the location of a table at random: the location does not reveal the name. */
export function chooseLocation(): TableFolder {
  const objectId = randomId()
  return { objectId, location: `tables/${objectId}.lance` }
}

/**
 * Adds a table or, without `table`, a namespace, under an existing parent. Returns false if the name or the location is
 * taken.
 */
export async function insertObject(
  database: CatalogDatabase,
  id: Identifier,
  properties: Properties,
  table?: TableFolder & { readonly state: TableState },
): Promise<boolean> {
  const inserted = await database
    .insertInto('objects')
    .values({
      objectId: table?.objectId ?? randomId(),
      kind: table === undefined ? 'namespace' : 'table',
      properties: JSON.stringify(properties),
      location: table?.location,
      state: table?.state,
      ...pathColumns(id),
      createdAt: Date.now(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

/** A new `id` must be free and have an existing parent. */
export async function updateObject(
  database: CatalogDatabase,
  objectId: string,
  changes: { readonly id?: Identifier; readonly state?: TableState; readonly properties?: Properties },
): Promise<void> {
  const { id, state, properties } = changes
  await database
    .updateTable('objects')
    .set({
      ...(id && pathColumns(id)),
      ...(state && { state }),
      ...(properties && { properties: JSON.stringify(properties) }),
    })
    .where('objectId', '=', objectId)
    .execute()
}

function pathColumns(id: Identifier): Pick<CatalogTables['objects'], 'path' | 'parentPath' | 'name'> {
  return { path: toPath(id), parentPath: toPath(id.slice(0, -1)), name: id.at(-1) ?? '' }
}

function randomId(): string {
  return randomBytes(16).toString('hex')
}

/** The entries of a listing after a name, at most `limit`. One more is read, to learn whether another page follows. */
export interface PageRequest {
  readonly page_token?: string | undefined
  readonly limit?: number | undefined
}

/** Lists the names of the children of a namespace, or else the paths of all objects, in the byte order of UTF-8. */
export async function listNames(
  database: CatalogDatabase,
  objects: 'namespaces' | 'tables' | 'tables with data',
  parentPath: string | undefined,
  { page_token: after, limit }: PageRequest,
): Promise<string[]> {
  const key = parentPath === undefined ? 'path' : 'name'
  let query = database.selectFrom('objects').select(`${key} as key`).orderBy(key)
  if (objects === 'namespaces') query = query.where('kind', '=', 'namespace')
  else if (objects === 'tables') query = query.where('kind', '=', 'table')
  else query = query.where('state', '=', 'ready')
  if (parentPath !== undefined) query = query.where('parentPath', '=', parentPath)
  if (after) query = query.where(key, '>', after)
  if (limit !== undefined) query = query.limit(limit + 1)
  return (await query.execute()).map((row) => row.key)
}

/** Whether a namespace has tables or namespaces. */
export async function hasChildren(database: CatalogDatabase, path: string): Promise<boolean> {
  const children = database.selectFrom('objects').select('name').where('parentPath', '=', path)
  return (await children.limit(1).executeTakeFirst()) !== undefined
}

/**
 * Removes a table, or a namespace with all that it contains, and records the folders of the tables as leftovers. Must run in
 * a transaction; uses a fixed number of statements, because it blocks others.
 */
export async function removeObject(database: CatalogDatabase, path: string): Promise<readonly TableFolder[]> {
  // The paths below `a` start with `a/`; `0` is the character after `/`.
  const isRemoved = (where: ExpressionBuilder<CatalogTables, 'objects'>) =>
    where.or([
      where('path', '=', path),
      where.and([where('path', '>', `${path}/`), where('path', '<', `${path}0`)]),
    ])
  const tables = database
    .selectFrom('objects')
    .where(isRemoved)
    .where('location', 'is not', null)
    .select((select) => [select.ref('location').$notNull().as('location'), 'objectId'])
  await database.insertInto('leftovers').columns(['location', 'objectId']).expression(tables).execute()
  const removed = database.deleteFrom('objects').where(isRemoved)
  const rows = await removed.returning(['objectId', 'location']).execute()
  return rows.flatMap(({ objectId, location }) => (location === null ? [] : [{ objectId, location }]))
}

/** Removes a table and leaves its data folder without an owner; it is not a leftover. */
export async function releaseTable(database: CatalogDatabase, objectId: string): Promise<void> {
  await database.deleteFrom('objects').where('objectId', '=', objectId).execute()
}

/** Whether the data at that location belongs to a table or is still to be deleted. */
export async function isLocationTaken(database: CatalogDatabase, location: string): Promise<boolean> {
  const found = await database
    .selectFrom('objects')
    .select('location')
    .where('location', '=', location)
    .unionAll(database.selectFrom('leftovers').select('location').where('location', '=', location))
    .executeTakeFirst()
  return found !== undefined
}

/** Lists data that is still to be deleted; no table can own its location until then. */
export async function listLeftovers(database: CatalogDatabase, objectId?: string) {
  let query = database.selectFrom('leftovers').select(['objectId', 'location'])
  if (objectId !== undefined) query = query.where('objectId', '=', objectId)
  return await query.execute()
}

export async function recordLeftover(database: CatalogDatabase, table: TableFolder): Promise<void> {
  await database.insertInto('leftovers').values(table).execute()
}

/** Returns false if there is none. */
export async function deleteLeftoverRecord(database: CatalogDatabase, objectId: string): Promise<boolean> {
  const deleted = await database.deleteFrom('leftovers').where('objectId', '=', objectId).executeTakeFirst()
  return deleted.numDeletedRows === 1n
}
