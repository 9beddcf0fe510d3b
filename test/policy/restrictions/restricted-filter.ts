import { FilterError } from '../../../src/policy/restrictions/filter-tokens.ts'
import type { VisibleColumns } from '../../../src/policy/restrictions/column-types.ts'
import { printFilter } from '../../../src/policy/restrictions/print-filter.ts'

const visibleColumns: VisibleColumns = new Map([
  ['id', 'number'],
  ['amount', 'number'],
  ['score', 'number'],
  ['name', 'text'],
  ['ok', 'boolean'],
  ['tags', 'texts'],
  ['counts', 'numbers'],
  ['Up', 'text'],
  ['a b', 'text'],
  ['day', 'date'],
  ['at', 'timestamp'],
  ['note.open', 'text'],
])

/** Returns what the engine gets of the filter of a caller; a FilterError if it is refused. Throws all other errors. */
export function printRestricted(filter: string): string | FilterError {
  try {
    return printFilter(filter, (path) => visibleColumns.get(path))
  } catch (error) {
    if (error instanceof FilterError) return error
    throw error
  }
}

const words: ReadonlySet<string> = new Set(
  (
    'AND OR NOT IN BETWEEN LIKE ILIKE IS NULL TRUE FALSE true false date timestamp ' +
    'lower upper length starts_with ends_with contains array_has'
  ).split(' '),
)

/**
 * Returns what a printed filter has besides texts, numbers, visible columns in backticks, and the words and signs of
 * conditions. It reads texts as SQL does, and shares no code with the parser.
 */
export function findForeign(printed: string): readonly string[] {
  const withoutTexts = printed.replaceAll(/'(?:[^'\\]|'')*'/g, '')
  const names = withoutTexts.match(/`[^`]*`(?:\.`[^`]*`)*/g) ?? []
  const hidden = names.filter((name) => !visibleColumns.has(name.replaceAll('`', '')))
  const rest = withoutTexts
    .replaceAll(/`[^`]*`(?:\.`[^`]*`)*/g, '')
    .replaceAll(/-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, '')
    .split(/<>|<=|>=|[ (),=<>]/)
  return [...hidden, ...rest.filter((word) => word !== '' && !words.has(word))]
}
