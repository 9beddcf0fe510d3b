import {
  boolField,
  int16Field,
  int32Field,
  stringField,
  structVector,
  tableField,
  tableVector,
  uint8Field,
  type FlatTable,
} from '../../interface/flatbuffer.ts'

/** A field: name, whether it may be null, type, dictionary, children. */
type FieldText = readonly [
  string,
  boolean,
  readonly unknown[],
  readonly unknown[] | null,
  readonly FieldText[],
]

const maximumDepth = 64

/**
 * The fields of a schema in the canonical form of which a fingerprint is made: JSON without spaces, each field
 * `[name, nullable, [type, ...parameters], dictionary, [...children]]`. The type is its number in the union `Type` of
 * Arrow's Schema.fbs, its parameters follow in the order there, with the defaults filled in; the dictionary is null,
 * or `[bits, signed]` of its indices. Metadata, the order of bytes and the ids of dictionaries are no part of it: they
 * differ between writers of the same table.
 *
 * `room` is the size of the message. A flatbuffer can name a part of itself many times over; what takes more room
 * than that written out is refused. Throws RangeError for that, and for what points outside of the message.
 */
export function schemaText(schema: FlatTable, room: number): string {
  let left = room
  const take = (cost: number): void => {
    left -= cost
    if (left < 0) throw new RangeError('the schema is larger than its message')
  }
  const text = (value: string | undefined): string => {
    take(value?.length ?? 0)
    return value ?? ''
  }
  const read = (field: FlatTable, depth: number): FieldText => {
    if (depth > maximumDepth) throw new RangeError('the schema is nested too deeply')
    // As little as an offset and a table can take.
    take(8)
    const dictionary = tableField(field, 4)
    return [
      text(stringField(field, 0)),
      boolField(field, 1),
      typeOf(field, text, take),
      dictionary === undefined ? null : indexOf(dictionary),
      tableVector(field, 5).map((child) => read(child, depth + 1)),
    ]
  }
  return JSON.stringify(tableVector(schema, 1).map((field) => read(field, 1)))
}

function indexOf(dictionary: FlatTable): readonly unknown[] {
  const index = tableField(dictionary, 1)
  return index === undefined ? [32, true] : [int32Field(index, 0), boolField(index, 1)]
}

/** The defaults are those of Schema.fbs. */
function typeOf(
  field: FlatTable,
  text: (value: string | undefined) => string,
  take: (cost: number) => void,
): readonly unknown[] {
  const number = uint8Field(field, 2)
  const type = tableField(field, 3)
  if (type === undefined) return [number]
  switch (number) {
    case 2: // Int
      return [number, int32Field(type, 0), boolField(type, 1)]
    case 3: // FloatingPoint
    case 11: // Interval
      return [number, int16Field(type, 0)]
    case 7: // Decimal
      return [number, int32Field(type, 0), int32Field(type, 1), int32Field(type, 2, 128)]
    case 8: // Date
    case 18: // Duration
      return [number, int16Field(type, 0, 1)]
    case 9: // Time
      return [number, int16Field(type, 0, 1), int32Field(type, 1, 32)]
    case 10: // Timestamp
      return [number, int16Field(type, 0), text(stringField(type, 1))]
    case 14: // Union
      return [number, int16Field(type, 0), ...unionIds(type, take)]
    case 15: // FixedSizeBinary
    case 16: // FixedSizeList
      return [number, int32Field(type, 0)]
    case 17: // Map
      return [number, boolField(type, 0)]
    default:
      return [number]
  }
}

function unionIds(type: FlatTable, take: (cost: number) => void): number[] {
  const { start, length } = structVector(type, 1, 4)
  take(4 * length)
  return Array.from({ length }, (_, index) => type.view.getInt32(start + 4 * index, true))
}
