import type { z } from 'zod'
import { getOperation, operationNames } from '../../catalog-api/operations.ts'
import type { ColumnType, FilterExpression } from '../restrictions/filter-expression.ts'
import { FilterError, parseFilter } from '../restrictions/parse-filter.ts'
import type { ColumnsWithout, VisibleColumns } from '../restrictions/restriction.ts'
import type { DeclaredColumn, DeclaredTable, DeclaredTags } from '../tags/object-tags.ts'
import type { Coverage } from './deny-coverage.ts'
import type { Lenient, Place } from './place.ts'
import type { PolicyRule } from './policy-document.ts'
import type { restrictionSchema, tagsSchema } from './policy-schema.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { describeTableName, readTables } from './read-names.ts'
import { nameUnnamed, readSubjects } from './read-rule.ts'

const readingOperations = operationNames.filter((name) => getOperation(name).readsPart !== undefined)
const message = `you may read a part of this table only, by ${readingOperations.join(', ')}`

/** Returns what restrictions deny: everything about a table but what can be restricted to a part of it. */
function getDenied(vocabulary: PolicyVocabulary): Coverage {
  const denied = vocabulary.permissions.names.filter(
    (name) => !readingOperations.some((reading) => reading === name),
  )
  return vocabulary.coverDeny(vocabulary.expand(denied, 'deny'), { includesMoves: true })
}

type WrittenRestriction = Lenient<z.output<typeof restrictionSchema>>

/**
 * Reads a restriction as a rule that denies everything about the tables but reading what the restriction leaves. Reports
 * all errors.
 */
export function readRestriction(
  place: Place,
  restriction: WrittenRestriction,
  vocabulary: PolicyVocabulary,
): PolicyRule {
  const { id = nameUnnamed(place), rows } = restriction
  const subjects = readSubjects(place.at('subjects'), restriction.subjects)
  const tables = readTables(place.at('tables'), restriction.tables, vocabulary)
  const columns = readColumns(place.at('columns'), restriction.columns)
  return {
    id,
    effect: 'deny',
    subjects,
    ...getDenied(vocabulary),
    tables,
    condition: undefined,
    restriction: {
      columns,
      rows: 'rows' in restriction ? readRows(place.at('rows'), rows, columns) : undefined,
    },
    message,
    ...place.position,
  }
}

function readColumns(
  place: Place,
  columns: WrittenRestriction['columns'] = {},
): VisibleColumns | ColumnsWithout {
  const { without } = columns
  if (typeof without !== 'object') return readColumnMap(place, columns, readColumnType)
  // A tag that cannot be read would hide nothing.
  return place.isFaulty ? new Map() : { without: without.filter((tag) => tag !== undefined) }
}

function readColumnType(type: ColumnType | readonly unknown[]): ColumnType | undefined {
  return typeof type === 'string' ? type : undefined
}

const noRows: FilterExpression = { kind: 'constant', value: false }

/**
 * Columns that the caller does not see may be named: their type is that of the literal. No row remains of a condition that
 * cannot be read.
 */
function readRows(
  place: Place,
  text: string | undefined,
  columns: VisibleColumns | ColumnsWithout,
): FilterExpression {
  if (text === undefined) return noRows
  try {
    return parseFilter(text, {
      findColumn: (path) => ('without' in columns ? undefined : columns.get(path.join('.'))) ?? 'unknown',
      hasVariables: true,
    })
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    place.reportCharacter(error.offset, `: ${error.message}`)
    return noRows
  }
}

/** Reads the field `tags` of a document. Reports all errors. */
export function readTags(
  place: Place,
  written: Lenient<z.output<typeof tagsSchema>> = {},
  vocabulary: PolicyVocabulary,
): DeclaredTags {
  const { namespace = [], tables = {} } = written
  const declared = new Map<string, DeclaredTable>()
  for (const key of place.at('tables').keys) {
    const item = place.at('tables', key)
    const problem = key.includes('*')
      ? ' contains "*"; tables are declared by exact name, and tags.namespace is for all'
      : describeTableName(key, vocabulary)
    if (problem !== undefined) item.reportKey(item.name + problem)
    const table = tables[key]
    if (table === undefined) continue
    const columns =
      table.columns &&
      readColumnMap(item.at('columns'), table.columns, (column): DeclaredColumn | undefined => {
        const { type, tags = [] } = typeof column === 'string' ? { type: column } : column
        return type && { type, tags: tags.filter((tag) => tag !== undefined) }
      })
    declared.set(key, {
      tags: (table.tags ?? []).filter((tag) => tag !== undefined),
      columns: columns ?? new Map(),
      ...item.keyPosition,
    })
  }
  return {
    namespace: 'namespace' in written ? namespace.filter((tag) => tag !== undefined) : undefined,
    tables: declared,
    ...place.position,
  }
}

/** Letters and digits of any script: filters have them in backticks. */
const columnNameGrammar = /^[\p{L}\p{N}_ -]{1,256}$/u

/** Reads a map of columns by their path. A part of a struct is `person.city`; then the struct itself is none of them. */
function readColumnMap<Column, Written>(
  place: Place,
  written: { readonly [name: string]: Written | undefined },
  read: (column: Written) => Column | undefined,
): ReadonlyMap<string, Column> {
  const columns = new Map<string, Column>()
  for (const key of place.keys) {
    const column = written[key] === undefined ? undefined : read(written[key])
    if (!key.split('.').every((name) => columnNameGrammar.test(name)))
      place
        .at(key)
        .reportKey(
          `${place.name} has ${JSON.stringify(key)}; expected names of letters, digits, "_", "-" and spaces, with "." between those of a struct and its field`,
        )
    if (column !== undefined) columns.set(key, column)
  }
  // In this order, the parts of a struct follow it.
  let whole: string | undefined
  for (const key of place.keys.toSorted(byPath)) {
    if (whole !== undefined && key.startsWith(`${whole}.`))
      place
        .at(key)
        .reportKey(
          `${place.name} has ${JSON.stringify(key)}, a part of ${JSON.stringify(whole)}; expected one of them`,
        )
    else if (columns.has(key)) whole = key
  }
  return columns
}

function byPath(one: string, other: string): number {
  return one.replaceAll('.', '\0') < other.replaceAll('.', '\0') ? -1 : 1
}
