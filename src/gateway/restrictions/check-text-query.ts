import { isObject } from '../../lib/json/is-object.ts'
import type { CallerRestriction, VisibleColumns } from '../../policy/restrictions/restriction.ts'
import { isAbsent, missingColumnError, unsupportedError } from './restricted-read.ts'

/**
 * Throws InvalidInput (400) unless a full-text query searches visible columns only. Scores depend on all rows of a table, so there
 * is none for callers who see some of them. Without a column, engines search all indexed ones.
 */
export function assertTextQuery(query: unknown, { columns, rows }: CallerRestriction): void {
  if (rows !== undefined)
    throw unsupportedError('"full_text_query" is not supported, because scores depend on all rows; omit it')
  if (countWords(query, columns) === 0)
    throw unsupportedError('"full_text_query" has no words; expected words and the columns that are searched')
}

/**
 * Counts the parts that have words. Whatever the form of the query, they name the columns in which the words are searched
 * (`fullTextQuerySchema`). Throws InvalidInput (400) for a part without columns or with a hidden one.
 */
function countWords(part: unknown, columns: VisibleColumns): number {
  if (Array.isArray(part)) return part.reduce<number>((sum, item) => sum + countWords(item, columns), 0)
  if (!isObject(part)) return 0
  const { terms, query, column, columns: several, ...others } = part
  const named = [...(isAbsent(column) ? [] : [column]), ...(Array.isArray(several) ? several : [])]
  const hidden = named.find((name) => typeof name !== 'string' || !columns.has(name))
  if (hidden !== undefined) throw missingColumnError(String(hidden))
  const hasWords = typeof terms === 'string' || typeof query === 'string'
  if (hasWords && named.length === 0)
    throw unsupportedError('"full_text_query" names no column; expected those that are searched')
  return (hasWords ? 1 : 0) + countWords([query, ...Object.values(others)], columns)
}
