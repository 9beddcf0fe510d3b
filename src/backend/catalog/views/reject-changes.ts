import {
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
  type OperationName,
} from 'catalog-gateway/catalog-api'
import type { CatalogCall } from '../catalog-call.ts'
import type { CatalogDatabase } from '../../database/database-schema.ts'
import { isView } from '../../database/materialized-views.ts'
import { toPath } from '../../database/objects.ts'

/** Operations that change or replace rows or columns, which only a refresh may do. */
const contentChanges: ReadonlySet<OperationName> = new Set<OperationName>([
  'AlterTableAddColumns',
  'AlterTableAlterColumns',
  'AlterTableBackfillColumns',
  'AlterTableDropColumns',
  'CreateTable',
  'CreateTableVersion',
  'DeleteFromTable',
  'InsertIntoTable',
  'MergeInsertIntoTable',
  'RegisterTable',
  'RestoreTable',
  'UpdateTable',
])

/** Throws InvalidInput (400) if an operation changes rows or columns of a materialized view. */
export async function rejectChangeOfView(
  database: CatalogDatabase,
  name: OperationName,
  call: CatalogCall<OperationName>,
): Promise<void> {
  for (const id of listChangedTables(name, call)) {
    if (!(await isView(database, toPath(id)))) continue
    throw invalidInput(
      `the table ${formatIdentifierForMessage(id)} is a materialized view; only a refresh changes its rows and columns`,
    )
  }
}

function listChangedTables(name: OperationName, call: CatalogCall<OperationName>): readonly Identifier[] {
  if (contentChanges.has(name)) return [call.id]
  // The compiler cannot relate the name of the operation to the type of its request.
  if (name === 'BatchCreateTableVersions') {
    return (call as CatalogCall<typeof name>).request.entries.map(({ id }) => id)
  }
  if (name === 'BatchCommitTables') {
    const { operations } = (call as CatalogCall<typeof name>).request
    return operations.flatMap(({ create_table_version: created }) => (created?.id ? [created.id] : []))
  }
  return []
}
