import { InterfaceError } from '../../interface/errors.ts'
import type { ArrowField, ArrowSchema, ArrowType } from './arrow-schema.ts'
import type { JsonArrowDataType, JsonArrowField, JsonArrowSchema, SchemaDialect } from './engine.ts'

/** Types that neither vocabulary has a name for. */
const nameless = new Set(['run_end_encoded', 'binary_view', 'utf8_view', 'list_view', 'large_list_view'])

type NameType = (type: ArrowType) => string | undefined

/**
 * An Arrow schema in its JSON form, in one of the two vocabularies; metadata is left out where there is none.
 * Throws Unsupported for a type that the vocabulary has no name for.
 */
export function schemaToJson(schema: ArrowSchema, dialect: SchemaDialect): JsonArrowSchema {
  return { fields: schema.fields.map((field) => fieldToJson(field, dialect)), ...metadataOf(schema) }
}

function fieldToJson(field: ArrowField, dialect: SchemaDialect): JsonArrowField {
  return {
    name: field.name,
    type: typeToJson(field, dialect),
    nullable: field.nullable,
    ...metadataOf(field),
  }
}

function metadataOf({ metadata }: { readonly metadata: Readonly<Record<string, string>> }) {
  return Object.keys(metadata).length === 0 ? {} : { metadata }
}

function typeToJson(field: ArrowField, dialect: SchemaDialect): JsonArrowDataType {
  const nameType: NameType = dialect === 'lance' ? lanceName : namespaceName
  const type = nameType(field.type)
  if (type === undefined) {
    throw new InterfaceError('Unsupported', `column ${field.name}: type ${field.type.kind} has no JSON form`)
  }
  if (field.indexType !== undefined && dialect === 'lance') {
    return { type: `dict:${type}:${nameType(field.indexType)}:false` }
  }
  const fields = field.children.map((child) => fieldToJson(child, dialect))
  const length = lengthOf(field.type, dialect)
  return { type, ...(fields.length > 0 && { fields }), ...(length !== undefined && { length }) }
}

function lengthOf(type: ArrowType, dialect: SchemaDialect): number | undefined {
  if (type.kind === 'fixed_size_binary' || type.kind === 'fixed_size_list') return type.length
  if (type.kind === 'decimal' && dialect === 'namespace') return type.precision * 1000 + type.scale
  return undefined
}

/** The names of the interface: units and time zones are lost, a dictionary is the type of its values. */
function namespaceName(type: ArrowType): string | undefined {
  if (type.kind === 'date') return type.unit === 'day' ? 'date32' : 'date64'
  if (type.kind === 'float' || type.kind === 'decimal' || type.kind === 'time')
    return `${type.kind}${type.bits}`
  return commonName(type)
}

/** The logical type names of the Lance format; its remote client reads no others. */
function lanceName(type: ArrowType): string | undefined {
  if (type.kind === 'utf8') return 'string'
  if (type.kind === 'large_utf8') return 'large_string'
  if (type.kind === 'float') return { 16: 'halffloat', 32: 'float', 64: 'double' }[type.bits]
  if (type.kind === 'decimal') return `decimal:${type.bits}:${type.precision}:${type.scale}`
  if (type.kind === 'date') return type.unit === 'day' ? 'date32:day' : 'date64:ms'
  if (type.kind === 'time') return `time${type.bits}:${type.unit}`
  if (type.kind === 'timestamp') return `timestamp:${type.unit}:${type.timezone ?? '-'}`
  if (type.kind === 'duration') return `duration:${type.unit}`
  return type.kind === 'interval' || type.kind === 'union' ? undefined : commonName(type)
}

function commonName(type: ArrowType): string | undefined {
  if (type.kind === 'int') return `${type.signed ? '' : 'u'}int${type.bits}`
  if (type.kind === 'map' && type.keysSorted) return undefined
  return nameless.has(type.kind) ? undefined : type.kind
}
