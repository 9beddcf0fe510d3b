import { createFieldsReader, readItems, readOptional, type Field, type ReportProblem } from './field.ts'
import type { Position } from './yaml/read-yaml.ts'
import type { PolicyRule } from './policy-document.ts'
import { protectionFields } from './policy-fields.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { readPermissions, readRuleId, readTables } from './read-rule.ts'
import { everybody, readExceptions } from './read-subjects.ts'

const readProtectionFields = createFieldsReader(protectionFields)

/** Returns the items of `protect`, not read yet. */
export function readProtections(field: Field, report: ReportProblem): readonly Field[] {
  return readItems(field, '[{ id, tables, except }]', report) ?? []
}

/** Reads a protection as a rule that denies the tables to all callers but the exceptions. Reports all errors. */
export function readProtection(
  field: Field,
  position: Position,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): PolicyRule | undefined {
  const fields = readProtectionFields(field, report)
  if (fields === undefined) return undefined
  const id = readRuleId(fields.get('id'), position, report)
  const tables = readTables(fields.get('tables'), report, vocabulary)
  const named =
    readOptional(fields, 'operations', (item) => readPermissions(item, report, vocabulary, 'deny'), report) ??
    vocabulary.expand(['all'], 'deny')
  const except = readOptional(fields, 'except', readExceptions, report)
  const subjects = { ...everybody, except }
  const coverage = vocabulary.coverDeny(named, { includesMoves: true })
  return { id, effect: 'deny', subjects, ...coverage, tables, condition: undefined, ...position }
}
