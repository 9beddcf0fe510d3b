import { readTokens } from './measure-sql.ts'

/**
 * Functions whose value differs between evaluations, or depends on the build. The engine replaces some of them by a
 * constant when it plans an expression, so they must be found in its text.
 */
const volatileNames = new Set([
  'current_date',
  'current_time',
  'current_timestamp',
  'localtime',
  'localtimestamp',
  'now',
  'rand',
  'random',
  'today',
  'uuid',
  'version',
])

/**
 * Returns the names of `columns` that a SQL text mentions, sorted. A name that is no column means one that differs in case
 * only, as in the engine. May include a column that the text uses as another name.
 */
export function findColumns(sql: string, columns: readonly string[]): string[] {
  const mentioned = new Set(readNames(sql))
  const exact = new Set(columns)
  const others = [...mentioned].filter((name) => !exact.has(name))
  const lowerCase = new Set(others.map((name) => name.toLowerCase()))
  return columns.filter((column) => mentioned.has(column) || lowerCase.has(column.toLowerCase())).toSorted()
}

/** Returns the name of a function in a SQL text whose value may differ between evaluations, unless it is a column. */
export function findVolatileFunction(sql: string, columns: readonly string[]): string | undefined {
  return readNames(sql).find((name) => volatileNames.has(name.toLowerCase()) && !columns.includes(name))
}

/** Names at the start of a path; those after a dot belong to nested fields. */
function readNames(sql: string): string[] {
  const names: string[] = []
  let before = ''
  for (const { kind, text } of readTokens(sql)) {
    if (kind === 'blank') continue
    if (before !== '.' && kind === 'word') names.push(text)
    if (before !== '.' && kind === 'quoted' && text.startsWith('`')) {
      names.push(text.slice(1, -1).replaceAll('``', '`'))
    }
    before = text
  }
  return names
}
