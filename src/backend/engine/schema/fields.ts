import { Type } from 'apache-arrow/fb/type'
import { CatalogError, quoteForMessage } from 'catalog-gateway/catalog-api'
import type { ArrowField, ArrowSchema } from 'catalog-gateway/arrow'

/**
 * Throws TableSchemaValidationError (400) for a column that the engine would accept in a new table, but could not read
 * later: one without a name or with a backtick in it, and binary values of a fixed size below 1.
 */
export function assertStorable({ fields }: ArrowSchema): void {
  for (const field of fields) {
    if (field.name === '' || field.name.includes('`'))
      throw columnError(field.name, 'expected a name that is not empty and contains no backtick')
    assertSizes(field, field.name)
  }
}

function assertSizes({ type, children }: ArrowField, path: string): void {
  if (type.id === Type.FixedSizeBinary && type.length < 1)
    throw columnError(path, `a fixed_size_binary of size ${type.length}; expected a size of at least 1`)
  for (const child of children) assertSizes(child, `${path}.${child.name}`)
}

function columnError(column: string, problem: string): CatalogError {
  return new CatalogError(
    'TableSchemaValidationError',
    `invalid column ${quoteForMessage(column)}: ${problem}`,
  )
}
