import { readTokens } from './expressions.ts'

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
  const mentioned = new Set(readNames(sql).map(({ name }) => name))
  const exact = new Set(columns)
  const others = [...mentioned].filter((name) => !exact.has(name))
  const lowerCase = new Set(others.map((name) => name.toLowerCase()))
  return columns.filter((column) => mentioned.has(column) || lowerCase.has(column.toLowerCase())).toSorted()
}

/** Returns the name of a function in a SQL text whose value may differ between evaluations. */
export function findVolatileFunction(sql: string, columns: readonly string[]): string | undefined {
  const found = readNames(sql).find(
    ({ name, isCalled }) => volatileNames.has(name.toLowerCase()) && (isCalled || !columns.includes(name)),
  )
  return found?.name
}

interface MentionedName {
  readonly name: string
  isCalled: boolean
}

/** The engine calls these even if there is a column of the name. */
const calledWithoutBrackets = /^current_(?:date|time|timestamp)$/i

/** Names at the start of a path; those after a dot belong to nested fields. */
function readNames(sql: string): MentionedName[] {
  const names: MentionedName[] = []
  let before = ''
  let last: MentionedName | undefined
  for (const { kind, text } of readTokens(sql)) {
    if (kind === 'blank') continue
    if (last !== undefined && text === '(') last.isCalled = true
    const name = before === '.' ? undefined : readName(kind, text)
    last =
      name === undefined ? undefined : { name, isCalled: kind === 'word' && calledWithoutBrackets.test(name) }
    if (last !== undefined) names.push(last)
    before = text
  }
  return names
}

function readName(kind: string, text: string): string | undefined {
  if (kind === 'word') return text
  return kind === 'quoted' && text.startsWith('`') ? text.slice(1, -1).replaceAll('``', '`') : undefined
}
