import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { CatalogDatabase } from './database-schema.ts'
import type { NameInNamespace } from './objects.ts'

/** The members of a request that creates a function, without the content of the artifact. */
export interface FunctionDefinition {
  readonly artifact: object
  readonly signature: Readonly<Record<string, unknown>>
  readonly runtime?: Readonly<Record<string, unknown>>
  readonly secret_bindings?: { readonly kind: string }[]
}

/** A version of a function. */
export interface FunctionEntry {
  readonly name: string
  /** Counts from 1. */
  readonly version: number
  /** Random: the same for all versions of a function, and another one for a later function of that name. */
  readonly objectId: string
  readonly definition: FunctionDefinition
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

export type FunctionPosition = Pick<FunctionEntry, 'name' | 'version'>

/** Adds the next version. `content` is that of the artifact. Must run in a transaction. */
export async function insertFunction(
  database: CatalogDatabase,
  { namespaceId, name }: NameInNamespace,
  definition: FunctionDefinition,
  content: unknown,
): Promise<FunctionEntry> {
  const newest = await database
    .selectFrom('functions')
    .select(['object_id', 'version'])
    .where('namespace_id', '=', namespaceId)
    .where('name', '=', name)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()
  const objectId = newest?.object_id ?? randomBytes(16).toString('hex')
  const entry = { name, version: (newest?.version ?? 0) + 1, objectId, definition, createdAt: Date.now() }
  await database
    .insertInto('functions')
    .values({
      namespace_id: namespaceId,
      name,
      version: entry.version,
      object_id: objectId,
      definition: JSON.stringify(definition),
      content: content === undefined ? null : JSON.stringify(content),
      created_at: entry.createdAt,
    })
    .execute()
  return entry
}

/** Finds a version with the content of its artifact, if it has one. */
export async function findFunction(
  database: CatalogDatabase,
  { namespaceId, name }: NameInNamespace,
  version: number,
): Promise<{ readonly entry: FunctionEntry; readonly content: unknown } | undefined> {
  const row = await database
    .selectFrom('functions')
    .select([...entryColumns, 'content'])
    .where('namespace_id', '=', namespaceId)
    .where('name', '=', name)
    .where('version', '=', version)
    .executeTakeFirst()
  return row && { entry: toEntry(row), content: row.content === null ? undefined : JSON.parse(row.content) }
}

export async function hasFunction(
  database: CatalogDatabase,
  { namespaceId, name }: NameInNamespace,
): Promise<boolean> {
  const found = await database
    .selectFrom('functions')
    .select('version')
    .where('namespace_id', '=', namespaceId)
    .where('name', '=', name)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Removes all versions of a function. */
export async function removeFunction(
  database: CatalogDatabase,
  { namespaceId, name }: NameInNamespace,
): Promise<void> {
  await database
    .deleteFrom('functions')
    .where('namespace_id', '=', namespaceId)
    .where('name', '=', name)
    .execute()
}

interface FunctionSlice {
  readonly after: FunctionPosition | undefined
  readonly limit: number | undefined
}

/** Lists the versions of all functions of a namespace after a position, by name and version. */
export async function listFunctions(
  database: CatalogDatabase,
  namespaceId: string,
  slice: FunctionSlice,
): Promise<FunctionPosition[]> {
  return await selectFunctions(database, namespaceId, slice).select(['name', 'version']).execute()
}

/** Like `listFunctions`, with the definitions, which may be large. */
export async function listFunctionEntries(
  database: CatalogDatabase,
  namespaceId: string,
  slice: FunctionSlice,
): Promise<FunctionEntry[]> {
  const rows = await selectFunctions(database, namespaceId, slice).select(entryColumns).execute()
  return rows.map(toEntry)
}

function selectFunctions(database: CatalogDatabase, namespaceId: string, { after, limit }: FunctionSlice) {
  let query = database
    .selectFrom('functions')
    .where('namespace_id', '=', namespaceId)
    .orderBy('name')
    .orderBy('version')
  if (after !== undefined)
    query = query.where(sql<boolean>`(name, version) > (${after.name}, ${after.version})`)
  return limit === undefined ? query : query.limit(limit)
}

const entryColumns = ['name', 'version', 'object_id', 'definition', 'created_at'] as const

function toEntry(row: {
  readonly name: string
  readonly version: number
  readonly object_id: string
  readonly definition: string
  readonly created_at: number
}): FunctionEntry {
  return {
    name: row.name,
    version: row.version,
    objectId: row.object_id,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by insertFunction
    definition: JSON.parse(row.definition) as FunctionDefinition,
    createdAt: row.created_at,
  }
}
