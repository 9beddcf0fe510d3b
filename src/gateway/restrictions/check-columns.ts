import { readLeadingSchema } from '../../lib/arrow/schema-stream.ts'
import type { ArrowField, ArrowSchema } from '../../lib/arrow/schema.ts'

/**
 * Returns what is wrong with the columns of a response, without their names, which may be hidden; undefined if it has no
 * other columns than those that were asked for. The values of a dictionary column are those of all rows, so it has none.
 */
function findUnaskedColumn({ fields }: ArrowSchema, columns: ReadonlySet<string>): string | undefined {
  if (fields.some(hasDictionary)) return 'the response has a dictionary, which may hold values of hidden rows'
  const isExpected = fields.every((field) => isAsked(field, '', columns))
  return isExpected ? undefined : 'the response has a column that was not asked for'
}

function hasDictionary(field: ArrowField): boolean {
  return field.indexType !== undefined || field.children.some(hasDictionary)
}

/** Engines return a part of a struct as a column of its path, or within a struct that has only the parts asked for. */
function isAsked(field: ArrowField, prefix: string, columns: ReadonlySet<string>): boolean {
  const path = prefix + field.name
  if (columns.has(path)) return true
  return field.children.length > 0 && field.children.every((child) => isAsked(child, `${path}.`, columns))
}

/** Creates the check of a response in Arrow by the schema at its start (`CheckStart`). */
export function createColumnsCheck(
  columns: ReadonlySet<string>,
): (start: Buffer) => { readonly problem: string } | 'incomplete' | undefined {
  return (start) => {
    const schema = readLeadingSchema(start)
    if (schema === 'incomplete') return schema
    const problem = schema === undefined ? 'the response is not Arrow' : findUnaskedColumn(schema, columns)
    return problem === undefined ? undefined : { problem }
  }
}
