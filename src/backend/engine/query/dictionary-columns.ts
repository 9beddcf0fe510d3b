import { Type } from 'apache-arrow/fb/type'
import type { TableQuery } from 'catalog-gateway/catalog-api'
import type { ArrowField, ArrowSchema } from 'catalog-gateway/lib'
import type { Selection } from './native-query.ts'
import { parenthesizeExpression } from '../sql/validate-expression.ts'

/** Columns that the engine adds to results. */
const addedColumns = new Set(['_rowid', '_distance', '_score', '_relevance_score', 'query_index'])
const castNames = new Map<Type, string>([
  [Type.Utf8, 'Utf8'],
  [Type.LargeUtf8, 'LargeUtf8'],
  [Type.Binary, 'Binary'],
  [Type.LargeBinary, 'LargeBinary'],
])

/** The engine has one dictionary per part of a table, an Arrow file only one. Undefined if there is nothing to cast. */
export function castDictionaryColumns(response: ArrowSchema, query: TableQuery): Selection | undefined {
  const columns = response.fields.filter((field) => !addedColumns.has(field.name))
  const dictionaries = columns.filter(
    (field) => field.indexType !== undefined && castNames.has(field.type.id),
  )
  // A name with a backtick cannot be quoted.
  if (dictionaries.length === 0 || columns.some((field) => field.name.includes('`'))) return undefined
  return columns.map((field): Selection[number] => [
    field.name,
    castDictionary(field, getColumnExpression(field.name, query)),
  ])
}

function getColumnExpression(name: string, { columns }: TableQuery): string {
  const requested =
    columns && 'expressions' in columns ? columns.expressions.find(([alias]) => alias === name) : undefined
  return requested ? parenthesizeExpression(requested[1]) : `\`${name}\``
}

function castDictionary(field: ArrowField, expression: string): string {
  const type = field.indexType && castNames.get(field.type.id)
  return type === undefined ? expression : `arrow_cast(${expression}, '${type}')`
}
