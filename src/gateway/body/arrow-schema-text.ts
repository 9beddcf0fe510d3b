import type { ArrowField, ArrowSchema, ArrowType } from '../../lib/arrow/schema.ts'

/** A field: name, nullable, type, dictionary, children. */
type FieldText = readonly [
  string,
  boolean,
  readonly unknown[],
  readonly unknown[] | null,
  readonly FieldText[],
]

/**
 * Formats the fields of a schema in the canonical form that its fingerprint is computed from: JSON without spaces, each
 * field `[name, nullable, [type, ...parameters], dictionary, [...children]]`. The type is its number in the union
 * `Type` of Arrow's Schema.fbs, followed by its parameters in the order of that file with defaults filled in; the
 * dictionary is null, or `[bits, signed]` of its indices. Metadata, endianness and dictionary ids are omitted: they
 * differ between writers of the same table.
 */
export function formatSchemaFields(schema: ArrowSchema): string {
  return JSON.stringify(schema.fields.map(formatField))
}

function formatField({ name, nullable, type, indexType, children }: ArrowField): FieldText {
  const dictionary = indexType === undefined ? null : [indexType.bits, indexType.signed]
  return [name, nullable, formatType(type), dictionary, children.map(formatField)]
}

/** A missing time zone is formatted as an empty one. */
function formatType(type: ArrowType): readonly unknown[] {
  return Object.values(type).flatMap((parameter) => parameter ?? '')
}
