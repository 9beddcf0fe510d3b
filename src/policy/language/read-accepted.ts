import {
  createFieldsReader,
  readItems,
  readOptional,
  readText,
  type Field,
  type ReportProblem,
} from './field.ts'
import type { AcceptedFinding } from './policy-document.ts'
import { acceptFields } from './policy-fields.ts'
import { readLabel } from './read-rule.ts'
import type { Locate } from './yaml/read-yaml.ts'

const readAcceptFields = createFieldsReader(acceptFields)

/** Reads the findings that a document accepts. Reports all errors, such as an empty reason. */
export function readAccepted(
  field: Field,
  locate: Locate,
  report: ReportProblem,
): readonly AcceptedFinding[] {
  const items = readItems(field, '[{ check, reason }]', report) ?? []
  return items.flatMap((item) => {
    const fields = readAcceptFields(item, report)
    if (fields === undefined) return []
    const check = readLabel(fields.get('check'), report)
    const rule = readOptional(fields, 'rule', readLabel, report)
    const reason = readText(fields.get('reason'), report)
    if (reason?.trim() === '') report(fields.get('reason').offset, `${fields.get('reason').name} is empty`)
    if (check === undefined || reason === undefined) return []
    return [{ check, rule, reason, ...locate(item.offset) }]
  })
}
