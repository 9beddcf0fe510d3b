import {
  CatalogError,
  type Identifier,
  invalidInput,
  quoteForMessage,
  type RequestOf,
  type ResponseOf,
  transactionNotFound,
} from 'catalog-gateway/catalog-api'
import type { StoredTransaction } from '../../engine/manifest/manifest-records.ts'
import type { Properties, TableEntry } from '../../database/objects.ts'
import { findAlterations, saveAlterations, type Alterations } from '../../database/transaction-alterations.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requireSameTable, requireTable } from '../context/require-objects.ts'
import { hasData } from '../consistency/table-data.ts'

type Response = ResponseOf<'DescribeTransaction'>
type Action = RequestOf<'AlterTransaction'>['actions'][number]

/** Properties that come from the commit itself cannot be altered. */
const reservedKeys: ReadonlySet<string> = new Set([
  'uuid',
  'version',
  'read_version',
  'operation',
  'tag',
  'branch',
])

/** The id is that of the table, then the UUID of the transaction or its version. Throws TransactionNotFound (404). */
export async function describeTransaction(context: CatalogContext, id: Identifier): Promise<Response> {
  const { table, transaction } = await requireTransaction(context, id)
  return describe(transaction, await findAlterations(context.database, table.objectId, transaction.uuid))
}

/**
 * Alters the status and properties shown for a transaction, all or none. Throws TransactionNotFound (404),
 * ConcurrentModification (409) for an existing property, InvalidInput (400) for a reserved or missing one.
 */
export async function alterTransaction(
  context: CatalogContext,
  id: Identifier,
  { actions }: RequestOf<'AlterTransaction'>,
): Promise<Response> {
  const { table, transaction } = await requireTransaction(context, id)
  return await context.database.transaction().execute(async (database) => {
    await requireSameTable(database, id.slice(0, -1), table.objectId)
    const before = await findAlterations(database, table.objectId, transaction.uuid)
    const after = actions.reduce(applyAction, before)
    await saveAlterations(database, table.objectId, transaction.uuid, after)
    return describe(transaction, after)
  })
}

async function requireTransaction(
  context: CatalogContext,
  id: Identifier,
): Promise<{ table: TableEntry; transaction: StoredTransaction }> {
  const tableId = id.slice(0, -1)
  const name = id.at(-1)
  if (name === undefined || tableId.length === 0) {
    throw invalidInput('expected the id of a table followed by a transaction: its UUID, or a version')
  }
  const table = await findTable(context, tableId)
  const transaction = table && (await findTransaction(context, table, name))
  if (table !== undefined && transaction !== undefined) return { table, transaction }
  throw transactionNotFound(id)
}

/** A missing table has no transactions: the catalog API defines no other 404 here. */
async function findTable(context: CatalogContext, id: Identifier): Promise<TableEntry | undefined> {
  try {
    const table = await requireTable(context.database, id)
    return (await hasData(context, table)) ? table : undefined
  } catch (error) {
    if (error instanceof CatalogError && error.status === 404) return undefined
    throw error
  }
}

async function findTransaction(
  context: CatalogContext,
  table: TableEntry,
  name: string,
): Promise<StoredTransaction | undefined> {
  const location = tableLocation(context, table)
  const branches = [...(await context.engine.branches.list(location)).keys()]
  return await context.manifestStore.findTransaction(location, branches, name)
}

function describe(transaction: StoredTransaction, { status, properties }: Alterations): Response {
  const { uuid, version, readVersion, kind, tag, branch } = transaction
  return {
    status: status ?? 'Succeeded',
    properties: {
      ...properties,
      uuid,
      version: `${version}`,
      read_version: `${readVersion}`,
      ...(kind === undefined ? {} : { operation: kind }),
      ...(tag === undefined ? {} : { tag }),
      ...(branch === undefined ? {} : { branch }),
    },
  }
}

function applyAction(before: Alterations, action: Action): Alterations {
  const { setStatusAction, setPropertyAction, unsetPropertyAction } = action
  if (setStatusAction !== undefined) return { ...before, status: setStatusAction.status }
  if (setPropertyAction !== undefined) {
    return { ...before, properties: setProperty(before.properties, setPropertyAction) }
  }
  if (unsetPropertyAction === undefined) return before
  return { ...before, properties: unsetProperty(before.properties, unsetPropertyAction) }
}

function setProperty(
  properties: Properties,
  { key, value, mode }: NonNullable<Action['setPropertyAction']>,
): Properties {
  requireAlterable(key)
  if (!Object.hasOwn(properties, key) || mode === 'Overwrite') return withProperty(properties, key, value)
  if (mode === 'Skip') return properties
  throw new CatalogError(
    'ConcurrentModification',
    `cannot set the property ${quoteForMessage(key)} with mode Fail: it exists`,
  )
}

function unsetProperty(
  properties: Properties,
  { key, mode }: NonNullable<Action['unsetPropertyAction']>,
): Properties {
  requireAlterable(key)
  if (Object.hasOwn(properties, key)) {
    return Object.fromEntries(Object.entries(properties).filter(([name]) => name !== key))
  }
  if (mode === 'Skip') return properties
  throw invalidInput(`cannot unset the property ${quoteForMessage(key)} with mode Fail: it does not exist`)
}

/** Keys such as `__proto__` become ordinary properties. */
function withProperty(properties: Properties, key: string, value: string): Properties {
  return Object.fromEntries([...Object.entries(properties), [key, value]])
}

function requireAlterable(key: string): void {
  if (reservedKeys.has(key))
    throw invalidInput(`the property ${quoteForMessage(key)} belongs to the commit and cannot be changed`)
}
