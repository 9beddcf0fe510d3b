import type { ArrowField, ArrowSchema } from 'catalog-gateway/lib'

/** A name, or a name in backticks with embedded backticks doubled. */
const segment = /(?:`((?:[^`]|``)*)`|([^.`]+))(?:\.|$)/gy

/** `path` has the names from the column down, joined by `.`; a name that contains a dot is in backticks. */
function splitPath(path: string): string[] {
  return Array.from(
    path.matchAll(segment),
    ([, quoted, plain = '']) => quoted?.replaceAll('``', '`') ?? plain,
  )
}

/** Returns the name of the column that contains the field. */
export function readColumnName(path: string): string {
  return splitPath(path)[0] ?? path
}

export function findField(schema: ArrowSchema, path: string): ArrowField | undefined {
  let fields = schema.fields
  let found: ArrowField | undefined
  for (const name of splitPath(path)) {
    found = fields.find((field) => field.name === name)
    if (found === undefined) return undefined
    fields = found.children
  }
  return found
}
