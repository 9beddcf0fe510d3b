import { getOperation, operationNames } from '../../catalog-api/operations.ts'
import { FilterError } from '../restrictions/filter-error.ts'
import type { FilterExpression } from '../restrictions/filter-expression.ts'
import { parseFilter } from '../restrictions/parse-filter.ts'
import type { ColumnsWithout, VisibleColumns } from '../restrictions/restriction.ts'
import {
  createFieldsReader,
  readOptional,
  readText,
  watchProblems,
  type Field,
  type ReportProblem,
} from './field.ts'
import type { Coverage } from './deny-coverage.ts'
import { columnsWithoutFields, restrictionFields } from './policy-fields.ts'
import { readColumnMap, readColumnType, readTagNames } from './read-tags.ts'
import type { PolicyRule } from './policy-document.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { readRuleId, readTables } from './read-rule.ts'
import { readSubjects } from './read-subjects.ts'
import { sourceOffset } from './yaml/scalar-offset.ts'
import type { Position } from './yaml/read-yaml.ts'

const readRestrictionFields = createFieldsReader(restrictionFields)
const readWithoutFields = createFieldsReader(columnsWithoutFields)

const readingOperations = operationNames.filter((name) => getOperation(name).readsPart !== undefined)
const message = `you may read a part of this table only, by ${readingOperations.join(', ')}`

const deniedCoverages = new WeakMap<PolicyVocabulary, Coverage>()

/** Returns what restrictions deny: everything about a table but what can be restricted to a part of it. */
function getDenied(vocabulary: PolicyVocabulary): Coverage {
  let coverage = deniedCoverages.get(vocabulary)
  if (coverage === undefined) {
    const named = new Set(vocabulary.expand(['all'], 'deny'))
    for (const { name, readsPart } of operationNames.map(getOperation))
      if (readsPart !== undefined) named.delete(name)
    coverage = vocabulary.coverDeny(named, { includesMoves: true })
    deniedCoverages.set(vocabulary, coverage)
  }
  return coverage
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
  const id = readRuleId(fields.get('id'), position, report)
  const subjects = readSubjects(fields.get('subjects'), report)
  const tables = readTables(fields.get('tables'), report, vocabulary)
  const columns = readColumns(fields.get('columns'), report)
  const rows = readOptional(fields, 'rows', (item) => readRows(item, columns, report), report)
  const coverage = getDenied(vocabulary)
  const restriction = { columns, rows }
  const rest = { tables, condition: undefined, restriction, message, ...position }
  return { id, effect: 'deny', subjects, ...coverage, ...rest }
}

/** A column may be named `without`: its type is no list. */
function readColumns(field: Field, report: ReportProblem): VisibleColumns | ColumnsWithout {
  const { node } = field
  const isByTag =
    node?.kind === 'map' && node.entries.some(({ key, value }) => key === 'without' && value?.kind === 'list')
  if (!isByTag) return readColumnMap(field, readColumnType, '{ id: number, name: text }', report)
  const watched = watchProblems(report)
  const fields = readWithoutFields(field, watched.report)
  const without = fields === undefined ? [] : readTagNames(fields.get('without'), watched.report)
  // A tag that cannot be read would hide nothing.
  return watched.hasProblems() ? new Map() : { without }
}

const noRows: FilterExpression = { kind: 'constant', value: false }

/**
 * Columns that the caller does not see may be named: their type is that of the literal. No row remains of a condition that
 * cannot be read.
 */
function readRows(
  field: Field,
  columns: VisibleColumns | ColumnsWithout,
  report: ReportProblem,
): FilterExpression {
  const text = readText(field, report)
  if (text === undefined || field.node?.kind !== 'scalar') return noRows
  try {
    return parseFilter(text, {
      findColumn: (path) => ('without' in columns ? undefined : columns.get(path.join('.'))) ?? 'unknown',
      hasVariables: true,
    })
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    report(sourceOffset(field.file, field.node, error.offset), `${field.name}: ${error.message}`)
    return noRows
  }
}
