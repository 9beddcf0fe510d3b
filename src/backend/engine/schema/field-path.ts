import type { ArrowField, ArrowSchema } from '../../../lib/arrow/schema.ts'

/** A name, or one in backticks in which a doubled backtick stands for one. */
const segment = /(?:`((?:[^`]|``)*)`|([^.`]+))(?:\.|$)/gy

/**
 * The field of a path: the names from a column down, joined by `.`; a name that holds one stands in backticks.
 * Undefined where there is no such field.
 */
export function findField(schema: ArrowSchema, path: string): ArrowField | undefined {
  let fields = schema.fields
  let found: ArrowField | undefined
  for (const [, quoted, plain] of path.matchAll(segment)) {
    const name = quoted?.replaceAll('``', '`') ?? plain
    found = fields.find((field) => field.name === name)
    if (found === undefined) return undefined
    fields = found.children
  }
  return found
}
