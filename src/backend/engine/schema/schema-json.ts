import { DateUnit } from 'apache-arrow/fb/date-unit'
import { TimeUnit } from 'apache-arrow/fb/time-unit'
import { Type } from 'apache-arrow/fb/type'
import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import {
  type JsonArrowDataType,
  type JsonArrowField,
  type JsonArrowSchema,
} from '../../schemas/json-arrow-schema.ts'
import type { ArrowField, ArrowSchema, ArrowType } from 'catalog-gateway/arrow'

/** `namespace`: names of the API (`utf8`), without units. `lance`: names of the remote client (`timestamp:us:UTC`). */
export type SchemaDialect = 'namespace' | 'lance'

/** Types that neither dialect has. */
const unnamedTypes = new Set([Type.NONE, Type.RunEndEncoded])
const floatBits = [16, 32, 64] as const
const lanceFloats = ['halffloat', 'float', 'double'] as const

/** Omits empty metadata. Throws Unsupported for a type without a name in the dialect. */
export function schemaToJson(schema: ArrowSchema, dialect: SchemaDialect): JsonArrowSchema {
  return { fields: schema.fields.map((field) => fieldToJson(field, dialect)), ...metadataMember(schema) }
}

function fieldToJson(field: ArrowField, dialect: SchemaDialect): JsonArrowField {
  return {
    name: field.name,
    type: typeToJson(field, dialect),
    nullable: field.nullable,
    ...metadataMember(field),
  }
}

function metadataMember({ metadata }: { readonly metadata: Readonly<Record<string, string>> }) {
  return Object.keys(metadata).length === 0 ? {} : { metadata }
}

function typeToJson(field: ArrowField, dialect: SchemaDialect): JsonArrowDataType {
  const nameType = dialect === 'lance' ? toLanceName : toNamespaceName
  const type = nameType(field.type)
  if (type === undefined) {
    throw new CatalogError(
      'Unsupported',
      `column ${field.name}: Arrow type ${Type[field.type.id] ?? field.type.id} has no JSON form`,
    )
  }
  if (field.indexType !== undefined && dialect === 'lance') {
    return { type: `dict:${type}:${nameType(field.indexType)}:false` }
  }
  const fields = field.children.map((child) => fieldToJson(child, dialect))
  const length = getLength(field.type, dialect)
  return { type, ...(fields.length > 0 && { fields }), ...(length !== undefined && { length }) }
}

function getLength(type: ArrowType, dialect: SchemaDialect): number | undefined {
  if (type.id === Type.FixedSizeBinary || type.id === Type.FixedSizeList) return type.length
  if (type.id === Type.Decimal && dialect === 'namespace') return type.precision * 1000 + type.scale
  return undefined
}

/** The names of the catalog API: no units or time zones, and a dictionary has its value type. */
function toNamespaceName(type: ArrowType): string | undefined {
  if (type.id === Type.Date) return type.unit === DateUnit.DAY ? 'date32' : 'date64'
  if (type.id === Type.FloatingPoint) return `float${floatBits[type.precision]}`
  if (type.id === Type.Decimal) return `decimal${type.bits}`
  if (type.id === Type.Time) return `time${type.bits}`
  return toCommonName(type)
}

/** The logical type names of the Lance format, the only ones that its remote client parses. */
function toLanceName(type: ArrowType): string | undefined {
  if (type.id === Type.Utf8) return 'string'
  if (type.id === Type.LargeUtf8) return 'large_string'
  if (type.id === Type.FloatingPoint) return lanceFloats[type.precision]
  if (type.id === Type.Decimal) return `decimal:${type.bits}:${type.precision}:${type.scale}`
  if (type.id === Type.Date) return type.unit === DateUnit.DAY ? 'date32:day' : 'date64:ms'
  if (type.id === Type.Time) return `time${type.bits}:${toUnitName(type.unit)}`
  if (type.id === Type.Timestamp) return `timestamp:${toUnitName(type.unit)}:${type.timezone ?? '-'}`
  if (type.id === Type.Duration) return `duration:${toUnitName(type.unit)}`
  return type.id === Type.Interval || type.id === Type.Union ? undefined : toCommonName(type)
}

/** The name of Arrow, as `fixed_size_list`. */
function toCommonName(type: ArrowType): string | undefined {
  if (type.id === Type.Int) return `${type.signed ? '' : 'u'}int${type.bits}`
  if (unnamedTypes.has(type.id) || (type.id === Type.Map && type.keysSorted)) return undefined
  if (type.id === Type.Struct_) return 'struct'
  return Type[type.id]?.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase()
}

function toUnitName(unit: TimeUnit): string {
  return {
    [TimeUnit.SECOND]: 's',
    [TimeUnit.MILLISECOND]: 'ms',
    [TimeUnit.MICROSECOND]: 'us',
    [TimeUnit.NANOSECOND]: 'ns',
  }[unit]
}

/** Type names that differ between the catalog API and the Lance format. The default unit is microseconds. */
const lanceNames = new Map([
  ['boolean', 'bool'],
  ['utf8', 'string'],
  ['large_utf8', 'large_string'],
  ['float16', 'halffloat'],
  ['float32', 'float'],
  ['float64', 'double'],
  ['date32', 'date32:day'],
  ['date64', 'date64:ms'],
  ['timestamp', 'timestamp:us:-'],
  ['duration', 'duration:us'],
])

/** Names that lack required parameters. */
const incompleteNames = new Set(['time32', 'time64', 'interval', 'union', 'dictionary'])

/** Accepts types already in that form. Omits metadata. Throws InvalidInput for an ambiguous name, Unsupported for a missing type. */
export function toLanceType(dataType: JsonArrowDataType): JsonArrowDataType {
  const { type, fields, length } = dataType
  const lower = type.toLowerCase()
  if (incompleteNames.has(lower)) {
    throw invalidInput(
      `data_type ${type} is incomplete; expected the name of the Lance format with its units`,
    )
  }
  const decimal = /^decimal(\d+)$/.exec(lower)?.[1]
  if (decimal !== undefined) return { type: toDecimalType(decimal, length) }
  return {
    // Lance type names contain time zones, which are case-sensitive.
    type: lanceNames.get(lower) ?? type,
    ...(length != null && { length }),
    ...(fields && {
      fields: fields.map(({ name, nullable, type: of }) => ({ name, nullable, type: toLanceType(of) })),
    }),
  }
}

function toDecimalType(bits: string, length: JsonArrowDataType['length']): string {
  if (bits !== '128' && bits !== '256') {
    throw new CatalogError('Unsupported', `data_type decimal${bits}: the Lance format has no such type`)
  }
  if (length == null) {
    throw invalidInput(`data_type decimal${bits}: expected a length of precision * 1000 + scale`)
  }
  return `decimal:${bits}:${Math.floor(length / 1000)}:${length % 1000}`
}
