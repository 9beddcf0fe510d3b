import {
  CatalogError,
  type Identifier,
  invalidInput,
  type ResponseOf,
  transactionNotFound,
} from 'catalog-gateway/catalog-api'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requireTable } from '../context/require-objects.ts'
import { hasData } from '../consistency/table-data.ts'

/** The id is that of the table, then the UUID of the transaction or its version. Throws TransactionNotFound (404). */
export async function describeTransaction(
  context: CatalogContext,
  id: Identifier,
): Promise<ResponseOf<'DescribeTransaction'>> {
  const tableId = id.slice(0, -1)
  const name = id.at(-1)
  if (name === undefined || tableId.length === 0) {
    throw invalidInput('expected the id of a table followed by a transaction: its UUID, or a version')
  }
  const location = await findLocation(context, tableId)
  if (location === undefined) throw transactionNotFound(id)
  const branches = [...(await context.engine.branches.list(location)).keys()]
  const transaction = await context.manifestStore.findTransaction(location, branches, name)
  if (transaction === undefined) throw transactionNotFound(id)
  const { uuid, version, readVersion, kind, tag, branch } = transaction
  return {
    status: 'Succeeded',
    properties: {
      uuid,
      version: `${version}`,
      read_version: `${readVersion}`,
      ...(kind === undefined ? {} : { operation: kind }),
      ...(tag === undefined ? {} : { tag }),
      ...(branch === undefined ? {} : { branch }),
    },
  }
}

/** A missing table has no transactions: the catalog API defines no other 404 here. */
async function findLocation(context: CatalogContext, id: Identifier): Promise<string | undefined> {
  try {
    const table = await requireTable(context.database, id)
    return (await hasData(context, table)) ? tableLocation(context, table) : undefined
  } catch (error) {
    if (error instanceof CatalogError && error.status === 404) return undefined
    throw error
  }
}
