import type { ArrowField, ArrowSchema } from '../../../lib/arrow/schema.ts'

/** A name, or a name in backticks with embedded backticks doubled. */
const segment = /(?:`((?:[^`]|``)*)`|([^.`]+))(?:\.|$)/gy

/** `path` has the names from the column down, joined by `.`; a name that contains a dot is in backticks. */
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
