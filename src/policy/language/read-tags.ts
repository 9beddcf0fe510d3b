import { columnTypes } from '../restrictions/column-type.ts'
import type { DeclaredColumn, DeclaredTable, DeclaredTags } from '../tags/declared-tags.ts'
import {
  createChoiceReader,
  createFieldsReader,
  readItems,
  readOptional,
  reportUnexpected,
  type Field,
  type ReportProblem,
} from './field.ts'
import { taggedColumnFields, taggedTableFields, tagsFields } from './policy-fields.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { readLabel, validateTableName } from './read-rule.ts'
import type { Locate } from './yaml/read-yaml.ts'

const readTagsFields = createFieldsReader(tagsFields)
const readTableFields = createFieldsReader(taggedTableFields)
const readColumnFields = createFieldsReader(taggedColumnFields)
export const readColumnType = createChoiceReader(columnTypes)

/** Reads the field `tags` of a document. Reports all errors. */
export function readTags(
  field: Field,
  locate: Locate,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): DeclaredTags {
  const fields = readTagsFields(field, report)
  const namespace = fields && readOptional(fields, 'namespace', readTagNames, report)
  const tables =
    fields && readOptional(fields, 'tables', (item) => readTables(item, locate, report, vocabulary), report)
  return { namespace, tables: tables ?? new Map(), ...locate(field.offset) }
}

/** Reads a list of tags that must not be empty. */
export function readTagNames(field: Field, report: ReportProblem): readonly string[] {
  const items = readItems(field, '[pii]', report)
  if (items?.length === 0) report(field.offset, `${field.name} is empty; expected a list, such as [pii]`)
  return (items ?? []).flatMap((item) => readLabel(item, report) ?? [])
}

function readTables(
  field: Field,
  locate: Locate,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): ReadonlyMap<string, DeclaredTable> {
  const tables = new Map<string, DeclaredTable>()
  const { node } = field
  if (node?.kind !== 'map')
    return (
      reportUnexpected(field, 'a map of tables, such as { customers: { tags: [pii] } }', report) ?? tables
    )
  for (const { key, value, start } of node.entries) {
    const item = field.child(key, value, value?.start ?? start)
    const error = validateTableName(key, vocabulary)
    if (key.includes('*'))
      report(
        start,
        `${item.name} contains "*"; tables are declared by exact name, and tags.namespace is for all`,
      )
    else if (error !== undefined) report(start, error(item.name))
    const fields = readTableFields(item, report)
    if (fields === undefined) continue
    const tags = readOptional(fields, 'tags', readTagNames, report) ?? []
    const columns = readOptional(fields, 'columns', (map) => readColumns(map, report), report) ?? new Map()
    tables.set(key, { tags, columns, ...locate(start) })
  }
  return tables
}

function readColumns(field: Field, report: ReportProblem): ReadonlyMap<string, DeclaredColumn> {
  return readColumnMap(field, readColumn, '{ id: number, ssn: { type: text, tags: [pii] } }', report)
}

function readColumn(field: Field, report: ReportProblem): DeclaredColumn | undefined {
  const fields = field.node?.kind === 'map' ? readColumnFields(field, report) : undefined
  const type = readColumnType(fields?.get('type') ?? field, report)
  const tags = fields && readOptional(fields, 'tags', readTagNames, report)
  return type && { type, tags: tags ?? [] }
}

/** Letters and digits of any script: filters have them in backticks. */
const columnNameGrammar = /^[\p{L}\p{N}_ -]{1,256}$/u

/** Reads a map of columns by their path. A part of a struct is `person.city`; then the struct itself is none of them. */
export function readColumnMap<Column>(
  field: Field,
  readColumn: (field: Field, report: ReportProblem) => Column | undefined,
  example: string,
  report: ReportProblem,
): ReadonlyMap<string, Column> {
  const columns = new Map<string, Column>()
  const { node } = field
  if (node?.kind !== 'map' || node.entries.length === 0) {
    report(field.offset, `${field.name} is no map of columns; expected for example ${example}`)
    return columns
  }
  for (const { key, value, start } of node.entries) {
    const column = readColumn(field.child(key, value, value?.start ?? start), report)
    if (!key.split('.').every((name) => columnNameGrammar.test(name)))
      report(
        start,
        `${field.name} has ${JSON.stringify(key)}; expected names of letters, digits, "_", "-" and spaces, with "." between those of a struct and its field`,
      )
    if (column !== undefined) columns.set(key, column)
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
