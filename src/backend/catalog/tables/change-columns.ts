import { CatalogError, invalidInput } from '../../../catalog-api/catalog-error.ts'
import { quoteForMessage, type Identifier } from '../../../catalog-api/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import type { TablePoint } from '../../engine/table-point.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requirePoint } from '../consistency/table-point.ts'

/** Adds columns with the values of SQL expressions. Columns computed on read or filled later are Unsupported (406). */
export async function addColumns(
  context: CatalogContext,
  id: Identifier,
  { branch, new_columns: added = [] }: Partial<RequestOf<'AlterTableAddColumns'>>,
): Promise<ResponseOf<'AlterTableAddColumns'>> {
  for (const { name, computed, virtual_column: virtual } of added) {
    rejectUnsupportedMembers(name, { computed, virtual_column: virtual })
  }
  const columns = added.map(({ name, expression }) => {
    if (expression === undefined)
      throw invalidInput(`the new column ${quoteForMessage(name)} has no expression`)
    return { name, expression }
  })
  const version = await changeColumns(context, id, branch, (point) =>
    context.engine.columns.add(point, columns),
  )
  return { version }
}

/** Adds the columns of a complete Arrow IPC stream of a schema without rows. Their values are null. */
export async function addNullColumns(
  context: CatalogContext,
  id: Identifier,
  schema: Uint8Array,
): Promise<ResponseOf<'AlterTableAddColumns'>> {
  const version = await changeColumns(context, id, undefined, (point) =>
    context.engine.columns.addNull(point, schema),
  )
  return { version }
}

/** Renames columns, and changes their types and nullability. Virtual columns are Unsupported. */
export async function alterColumns(
  context: CatalogContext,
  id: Identifier,
  { branch, alterations }: RequestOf<'AlterTableAlterColumns'>,
): Promise<ResponseOf<'AlterTableAlterColumns'>> {
  for (const { path, virtual_column: virtual } of alterations) {
    rejectUnsupportedMembers(path, { virtual_column: virtual })
  }
  const version = await changeColumns(context, id, branch, (point) =>
    context.engine.columns.alter(point, alterations),
  )
  return { version }
}

/** Drops columns; older versions keep their values. */
export async function dropColumns(
  context: CatalogContext,
  id: Identifier,
  { branch, columns }: RequestOf<'AlterTableDropColumns'>,
): Promise<ResponseOf<'AlterTableDropColumns'>> {
  const version = await changeColumns(context, id, branch, (point) =>
    context.engine.columns.drop(point, columns),
  )
  return { version }
}

/** Changes the metadata of fields. Returns the resulting metadata of each. */
export async function updateFieldMetadata(
  context: CatalogContext,
  id: Identifier,
  { branch, updates }: RequestOf<'UpdateFieldMetadata'>,
): Promise<ResponseOf<'UpdateFieldMetadata'>> {
  return await changeColumns(context, id, branch, (point) =>
    context.engine.columns.updateMetadata(point, updates),
  )
}

/** Concurrent schema changes conflict, so they run one at a time. */
async function changeColumns<Result>(
  context: CatalogContext,
  id: Identifier,
  branch: string | undefined,
  change: (point: TablePoint) => Promise<Result>,
): Promise<Result> {
  const { table, point } = await requirePoint(context, id, { branch })
  return await context.dataLock.runExclusive(table.objectId, () => change(point))
}

function rejectUnsupportedMembers(column: string, members: Readonly<Record<string, unknown>>): void {
  for (const [member, value] of Object.entries(members)) {
    if (value === undefined) continue
    throw new CatalogError(
      'Unsupported',
      `${member} of the column ${quoteForMessage(column)} is not supported; this catalog adds columns by expression only`,
    )
  }
}
