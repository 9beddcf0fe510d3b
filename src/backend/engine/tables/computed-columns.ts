import type * as native from '@lancedb/lancedb/native'
import { DataType, Field, Schema, Table, tableFromIPC, tableToIPC } from 'apache-arrow'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import type { ArrowSchema } from 'catalog-gateway/arrow'
import { parenthesizeExpression, readTokens } from '../sql/expressions.ts'

/** The metadata of a computed column, as LanceDB writes it. */
const kindKey = 'computed_column.kind'
const expressionKey = 'computed_column.expression'

export interface ComputedColumn {
  readonly name: string
  readonly expression: string
}

/**
 * Builds an Arrow IPC file of nullable fields without rows, which have the types of the expressions, and the expressions
 * in their metadata. A dictionary type becomes the type of its values. Throws InvalidInput for an invalid expression or one
 * without a type, and Unsupported for a type that this process cannot write.
 */
export async function buildComputedColumns(
  table: native.Table,
  { fields: existing }: ArrowSchema,
  columns: readonly ComputedColumn[],
): Promise<Buffer> {
  const names = existing.map(({ name }) => name)
  const types = await readTypes(table, names, columns)
  const fields = columns.map(({ name, expression }, index) => {
    const type = types[index]
    if (type === undefined || DataType.isNull(type)) {
      throw invalidInput(
        `the column ${quoteForMessage(name)} has no type; expected an expression like CAST(NULL AS int)`,
      )
    }
    const metadata = [
      ['computed_column', 'true'],
      [kindKey, 'sql'],
      [expressionKey, expression],
      ['computed_column.inputs', JSON.stringify(findInputs(expression, names))],
    ] as const
    return new Field(name, DataType.isDictionary(type) ? type.valueType : type, true, new Map(metadata))
  })
  return Buffer.from(tableToIPC(new Table(new Schema(fields)), 'file'))
}

async function readTypes(
  table: native.Table,
  [anyColumn = '']: readonly string[],
  columns: readonly ComputedColumn[],
): Promise<DataType[]> {
  const query = table.query()
  // The engine refuses to plan constants alone.
  query.select([
    ...columns.map(({ name, expression }): [string, string] => [name, parenthesizeExpression(expression)]),
    ['', `\`${anyColumn.replaceAll('`', '``')}\``],
  ])
  const file = await query.outputSchema()
  try {
    return tableFromIPC(file).schema.fields.map(({ type }) => type)
  } catch (error) {
    const message =
      'the type of a computed column is not supported by this catalog; cast its value to another type'
    throw new CatalogError('Unsupported', message, { cause: error })
  }
}

/** The columns that an expression reads, sorted; a name that is no column means those that differ in case only. */
function findInputs(expression: string, columns: readonly string[]): string[] {
  const tokens = [...readTokens(expression)]
  // A name after a dot is that of a nested field.
  const names = tokens.flatMap(({ kind, text }, index) => {
    if (tokens[index - 1]?.text === '.') return []
    if (kind === 'word') return [text]
    return kind === 'quoted' && text.startsWith('`') ? [text.slice(1, -1).replaceAll('``', '`')] : []
  })
  const inOtherCase = names.filter((name) => !columns.includes(name)).map((name) => name.toLowerCase())
  return columns
    .filter((column) => names.includes(column) || inOtherCase.includes(column.toLowerCase()))
    .toSorted()
}

/** Throws InvalidInput (not 404: see native-errors.ts) for a column that is missing or has no expression. */
export function requireComputedColumn(schema: ArrowSchema, name: string): ComputedColumn {
  const field = schema.fields.find((candidate) => candidate.name === name)
  if (field === undefined) throw invalidInput(`the table has no column ${quoteForMessage(name)}`)
  const expression = field.metadata[expressionKey]
  if (field.metadata[kindKey] !== 'sql' || expression === undefined) {
    throw invalidInput(
      `the column ${quoteForMessage(name)} has no SQL expression; expected one added with the member computed`,
    )
  }
  return { name, expression }
}
