import { randomBytes } from 'node:crypto'
import type { Identifier } from 'catalog-gateway/catalog-api'
import { isObject } from 'catalog-gateway/lib'
import { type Selectable, sql, type SelectQueryBuilder } from 'kysely'
import type { CatalogDatabase, CatalogTables, TableState } from './schema.ts'

export type Properties = Readonly<Record<string, string>>

export function parseProperties(text: string): Properties {
  const value: unknown = JSON.parse(text)
  if (!isProperties(value))
    throw new Error('a row of the store has properties that are not an object of strings')
  return value
}

function isProperties(value: unknown): value is Properties {
  return isObject(value) && Object.values(value).every((text) => typeof text === 'string')
}

interface ObjectEntry {
  readonly objectId: string
  readonly path: string
  readonly properties: Properties
}

export interface NamespaceEntry extends ObjectEntry {
  readonly kind: 'namespace'
}

/** `location` is relative to the data folder. */
export interface TableEntry extends ObjectEntry {
  readonly kind: 'table'
  readonly location: string
  readonly state: TableState
}

/** Names cannot contain a slash. */
export function toPath(id: Identifier): string {
  return id.join('/')
}

export function fromPath(path: string): Identifier {
  return path === '' ? [] : path.split('/')
}

export async function findObject(
  database: CatalogDatabase,
  id: Identifier,
): Promise<NamespaceEntry | TableEntry | undefined> {
  const row = await selectObjects(database).where('path', '=', toPath(id)).executeTakeFirst()
  return row && toEntry(row)
}

export async function findTableById(
  database: CatalogDatabase,
  objectId: string,
): Promise<TableEntry | undefined> {
  const row = await selectObjects(database).where('object_id', '=', objectId).executeTakeFirst()
  const entry = row && toEntry(row)
  return entry?.kind === 'table' ? entry : undefined
}

const objectColumns = ['object_id', 'path', 'kind', 'properties', 'location', 'state'] as const

function selectObjects(database: CatalogDatabase) {
  return database.selectFrom('objects').select(objectColumns)
}

function toEntry(
  row: Pick<Selectable<CatalogTables['objects']>, (typeof objectColumns)[number]>,
): NamespaceEntry | TableEntry {
  const entry = { objectId: row.object_id, path: row.path, properties: parseProperties(row.properties) }
  if (row.location === null || row.state === null) return { ...entry, kind: 'namespace' }
  return { ...entry, kind: 'table', location: row.location, state: row.state }
}

/** Adds a namespace under an existing parent; returns false if the name is taken. */
export async function insertNamespace(
  database: CatalogDatabase,
  id: Identifier,
  properties: Properties,
): Promise<boolean> {
  return await insert(database, id, randomId(), { kind: 'namespace', properties: JSON.stringify(properties) })
}

/** The random location does not reveal the name. Returns undefined if the name is taken. */
export async function insertTable(
  database: CatalogDatabase,
  id: Identifier,
  state: 'creating' | 'declared',
  properties: Properties,
): Promise<TableEntry | undefined> {
  const objectId = randomId()
  const location = `tables/${objectId}.lance`
  const row = { kind: 'table', properties: JSON.stringify(properties), location, state } as const
  if (!(await insert(database, id, objectId, row))) return undefined
  return { kind: 'table', objectId, path: toPath(id), properties, location, state }
}

/** Adds a table with existing data under an existing parent; returns false if the name or the data is taken. */
export async function insertRegisteredTable(
  database: CatalogDatabase,
  id: Identifier,
  location: string,
  properties: Properties,
): Promise<boolean> {
  const row = { kind: 'table', properties: JSON.stringify(properties), location, state: 'ready' } as const
  return await insert(database, id, randomId(), row)
}

async function insert(
  database: CatalogDatabase,
  id: Identifier,
  objectId: string,
  row: Pick<CatalogTables['objects'], 'kind' | 'properties'> &
    Partial<Pick<CatalogTables['objects'], 'location' | 'state'>>,
): Promise<boolean> {
  const inserted = await database
    .insertInto('objects')
    .values({ ...row, object_id: objectId, ...pathColumns(id), created_at: Date.now() })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

/** Moves a table to another id under an existing parent. The caller has checked that the id is free. */
export async function moveTable(database: CatalogDatabase, objectId: string, id: Identifier): Promise<void> {
  await database.updateTable('objects').set(pathColumns(id)).where('object_id', '=', objectId).execute()
}

export async function findTableState(
  database: CatalogDatabase,
  objectId: string,
): Promise<TableState | undefined> {
  const row = await database
    .selectFrom('objects')
    .select('state')
    .where('object_id', '=', objectId)
    .executeTakeFirst()
  return row?.state ?? undefined
}

/** Returns false if the table does not exist. */
export async function setTableState(
  database: CatalogDatabase,
  objectId: string,
  state: TableState,
): Promise<boolean> {
  const updated = await database
    .updateTable('objects')
    .set({ state })
    .where('object_id', '=', objectId)
    .executeTakeFirst()
  return updated.numUpdatedRows === 1n
}

export async function setProperties(
  database: CatalogDatabase,
  objectId: string,
  properties: Properties,
): Promise<void> {
  await database
    .updateTable('objects')
    .set({ properties: JSON.stringify(properties) })
    .where('object_id', '=', objectId)
    .execute()
}

function pathColumns(id: Identifier): Pick<CatalogTables['objects'], 'path' | 'parent_path' | 'name'> {
  return { path: toPath(id), parent_path: toPath(id.slice(0, -1)), name: id.at(-1) ?? '' }
}

function randomId(): string {
  return randomBytes(16).toString('hex')
}

/** A part of a listing: the entries after a name, at most `limit`. */
export interface Slice {
  readonly after: string | undefined
  readonly limit: number | undefined
}

export async function listNamespaceNames(
  database: CatalogDatabase,
  parentPath: string,
  slice: Slice,
): Promise<string[]> {
  return await listNames(database.selectFrom('objects').where('kind', '=', 'namespace'), parentPath, slice)
}

export async function listTableNames(
  database: CatalogDatabase,
  parentPath: string,
  includeDeclared: boolean,
  slice: Slice,
): Promise<string[]> {
  return await listNames(selectTables(database, includeDeclared), parentPath, slice)
}

async function listNames(
  objects: SelectQueryBuilder<CatalogTables, 'objects', object>,
  parentPath: string,
  { after, limit }: Slice,
): Promise<string[]> {
  let query = objects.select('name').where('parent_path', '=', parentPath).orderBy('name')
  if (after !== undefined) query = query.where('name', '>', after)
  if (limit !== undefined) query = query.limit(limit)
  return (await query.execute()).map((row) => row.name)
}

export async function listTablePaths(
  database: CatalogDatabase,
  includeDeclared: boolean,
  { after, limit }: Slice,
): Promise<string[]> {
  let query = selectTables(database, includeDeclared).select('path').orderBy('path')
  if (after !== undefined) query = query.where('path', '>', after)
  if (limit !== undefined) query = query.limit(limit)
  return (await query.execute()).map((row) => row.path)
}

/** The partial indexes are only used for literals. */
function selectTables(database: CatalogDatabase, includeDeclared: boolean) {
  const objects = database.selectFrom('objects')
  if (!includeDeclared) return objects.where('state', '=', sql.lit('ready'))
  return objects.where('kind', '=', sql.lit('table')).where('state', 'in', ['ready', 'declared'])
}
