import { getOperation, operationNames } from '../../catalog-api/operations.ts'
import { columnTypes, type ColumnType } from '../restrictions/column-type.ts'
import { FilterError } from '../restrictions/filter-error.ts'
import type { FilterExpression } from '../restrictions/filter-expression.ts'
import { parseFilter } from '../restrictions/parse-filter.ts'
import type { VisibleColumns } from '../restrictions/restriction.ts'
import {
  createChoiceReader,
  createFieldsReader,
  readItems,
  readOptional,
  readText,
  type Field,
  type ReportProblem,
} from './field.ts'
import type { Coverage } from './deny-coverage.ts'
import { readsFields, restrictionFields } from './policy-fields.ts'
import type { PolicyRule } from './policy-document.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { readLabel, readTables } from './read-rule.ts'
import { readSubjects } from './read-subjects.ts'
import { sourceOffset } from './yaml/scalar-offset.ts'
import type { Position } from './yaml/read-yaml.ts'

const readReadsFields = createFieldsReader(readsFields)
const readRestrictionFields = createFieldsReader(restrictionFields)
const readColumnType = createChoiceReader(columnTypes)

/** What restrictions deny: everything about a table but what can be restricted to a part of it. */
const denied = new WeakMap<PolicyVocabulary, Coverage>()

function getDenied(vocabulary: PolicyVocabulary): Coverage {
  let coverage = denied.get(vocabulary)
  if (coverage === undefined) {
    const named = new Set(vocabulary.expand(['all'], 'deny'))
    for (const { name, readsPart } of operationNames.map(getOperation))
      if (readsPart !== undefined) named.delete(name)
    coverage = vocabulary.coverDeny(named, { includesMoves: true })
    denied.set(vocabulary, coverage)
  }
  return coverage
}

/** Returns the items of `reads.restrict`, not read yet. */
export function readRestrictions(field: Field, report: ReportProblem): readonly Field[] {
  const fields = readReadsFields(field, report)
  return fields === undefined
    ? []
    : (readItems(fields.get('restrict'), '[{ id, subjects, tables, columns }]', report) ?? [])
}

/**
 * Reads a restriction as a rule that denies everything about the tables but reading what the restriction leaves. Reports
 * all errors.
 */
export function readRestriction(
  field: Field,
  position: Position,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): PolicyRule | undefined {
  const fields = readRestrictionFields(field, report)
  if (fields === undefined) return undefined
  const id = readLabel(fields.get('id'), report)
  const subjects = readSubjects(fields.get('subjects'), report)
  const tables = readTables(fields.get('tables'), report, vocabulary)
  const columns = readColumns(fields.get('columns'), report)
  const rows = readOptional(fields, 'rows', (item) => readRows(item, columns, report), report)
  if (id === undefined) return undefined
  const coverage = getDenied(vocabulary)
  const restriction = { columns, rows }
  return { id, effect: 'deny', subjects, ...coverage, tables, condition: undefined, restriction, ...position }
}

/** Letters and digits of any script: filters have them in backticks. */
const columnNameGrammar = /^[\p{L}\p{N}_ -]{1,256}$/u

/** Reads the columns and their types. A part of a struct is `person.city`. */
function readColumns(field: Field, report: ReportProblem): VisibleColumns {
  const columns = new Map<string, ColumnType>()
  const { node } = field
  if (node?.kind !== 'map' || node.entries.length === 0) {
    report(
      field.offset,
      `${field.name} is no map of columns; expected for example { id: number, name: text }`,
    )
    return columns
  }
  for (const { key, value, start } of node.entries) {
    const type = readColumnType(field.child(key, value, value?.start ?? start), report)
    if (!key.split('.').every((name) => columnNameGrammar.test(name)))
      report(
        start,
        `${field.name} has ${JSON.stringify(key)}; expected names of letters, digits, "_", "-" and spaces, with "." between those of a struct and its field`,
      )
    if (type !== undefined) columns.set(key, type)
  }
  for (const { key, start } of node.entries) {
    const whole = [...columns.keys()].find((other) => key.startsWith(`${other}.`))
    if (whole !== undefined)
      report(
        start,
        `${field.name} has ${JSON.stringify(key)}, a part of ${JSON.stringify(whole)}; expected one of them`,
      )
  }
  return columns
}

/** Columns that the caller does not see may be named: their type is that of the literal. */
function readRows(
  field: Field,
  columns: VisibleColumns,
  report: ReportProblem,
): FilterExpression | undefined {
  const text = readText(field, report)
  if (text === undefined || field.node?.kind !== 'scalar') return undefined
  try {
    return parseFilter(text, {
      findColumn: (path) => columns.get(path.join('.')) ?? 'unknown',
      hasVariables: true,
    })
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    report(sourceOffset(field.file, field.node, error.offset), `${field.name}: ${error.message}`)
    return undefined
  }
}
