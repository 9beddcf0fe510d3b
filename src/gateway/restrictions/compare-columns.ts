import { getMembers, isObject } from '../../lib/json/is-object.ts'
import type { ColumnType } from '../../policy/restrictions/column-type.ts'
import type { VisibleColumns } from '../../policy/restrictions/restriction.ts'

/** How the columns of a restriction differ from those of the table. */
export interface ComparedColumns {
  /** One sentence for each column that differs, without a subject: "declares `id` as number, ...". */
  readonly problems: readonly string[]
  /** The declared columns that the table has. */
  readonly present: readonly string[]
}

/**
 * Compares the columns of a restriction with a schema in JSON, as DescribeTable returns it. Types with a name that is not
 * read are not compared.
 */
export function compareColumns(schema: unknown, columns: VisibleColumns): ComparedColumns {
  const problems: string[] = []
  const present: string[] = []
  for (const [path, declared] of columns) {
    const type = findColumnType(schema, path.split('.'))
    if (type === undefined) {
      problems.push(`declares the column \`${path}\`, which the table does not have`)
      continue
    }
    present.push(path)
    const real = formatType(type)
    if (real !== undefined && !typeGrammars[declared].test(real))
      problems.push(`declares the column \`${path}\` as ${declared}, but its type in the table is ${real}`)
  }
  return { problems, present }
}

/** Finds the type of a column, or of a field in a struct. */
function findColumnType(schema: unknown, [name, ...rest]: readonly string[]): unknown {
  const fields = getMembers(schema)['fields']
  const field = Array.isArray(fields) ? fields.find((each) => getMembers(each)['name'] === name) : undefined
  const type = getMembers(field)['type']
  return type === undefined || rest.length === 0 ? type : findColumnType(type, rest)
}

/** Returns the name of a type, of a list with the type of its items; undefined if it cannot be read. */
function formatType(type: unknown): string | undefined {
  const { type: name = type, fields } = isObject(type) ? type : {}
  const text = typeof name === 'string' ? name.toLowerCase() : undefined
  if (text === undefined || !text.includes('list') || !Array.isArray(fields)) return text
  const item = formatType(getMembers(fields[0])['type'])
  return item === undefined ? undefined : `${text} of ${item}`
}

const number = String.raw`(u?int\d+|float\d*|halffloat|double|decimal\S*)`
const text = '(large_)?(utf8|string)'
const list = '(large_list|list|fixed_size_list)'

/** Names of types of the catalog API and of Lance. */
const typeGrammars: Readonly<Record<ColumnType, RegExp>> = {
  number: new RegExp(`^${number}$`),
  text: new RegExp(`^${text}$`),
  boolean: /^bool(ean)?$/,
  date: /^date/,
  timestamp: /^timestamp/,
  texts: new RegExp(`^${list} of ${text}$`),
  numbers: new RegExp(`^${list} of ${number}$`),
  other: /^/,
}

/** A column of vectors, as a search needs one. */
export interface VectorColumn {
  readonly name: string
  readonly dimension: number
}

/** Finds the first column of vectors of floats. */
export function findVectorColumn(schema: unknown): VectorColumn | undefined {
  const fields = getMembers(schema)['fields']
  for (const field of Array.isArray(fields) ? fields : []) {
    const { name, type } = getMembers(field)
    const { length } = getMembers(type)
    const isVector = /^fixed_size_list of (float|halffloat|double)/.test(formatType(type) ?? '')
    if (isVector && typeof name === 'string' && typeof length === 'number') return { name, dimension: length }
  }
  return undefined
}
