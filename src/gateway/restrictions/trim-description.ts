import { refusal } from '../../catalog-api/catalog-error.ts'
import { isObject } from '../../lib/json/is-object.ts'
import { parseJsonBytes } from '../../lib/json/parse-json-bytes.ts'
import type { VisibleColumns } from '../../policy/restrictions/restriction.ts'

/** The members of a description that tell nothing of hidden rows and columns. */
const describedMembers = ['table', 'namespace', 'version', 'schema'] as const

/**
 * Removes from the description of a table all but its id, its version and the visible columns: statistics count hidden rows, and
 * a location and metadata lead past the restriction. Throws ServiceUnavailable (502) for a response without a schema in
 * the form of the catalog API.
 */
export function trimDescription(body: Buffer, columns: VisibleColumns): Buffer {
  const described = parseJsonBytes(body)
  if (!isObject(described)) throw invalidDescription()
  const members = describedMembers.flatMap((name) => {
    const value = described[name]
    if (value === undefined || value === null) return []
    return [[name, name === 'schema' ? trimSchema(value, columns) : value] as const]
  })
  return Buffer.from(JSON.stringify(Object.fromEntries(members)))
}

function trimSchema(schema: unknown, columns: VisibleColumns): unknown {
  return { fields: trimFields(isObject(schema) ? schema['fields'] : undefined, '', columns) }
}

/** Keeps visible fields, and of a struct with visible fields only these. Metadata may say anything. */
function trimFields(fields: unknown, prefix: string, columns: VisibleColumns): readonly unknown[] {
  if (!Array.isArray(fields)) throw invalidDescription()
  return fields.flatMap((field: unknown) => {
    if (!isObject(field) || typeof field['name'] !== 'string') throw invalidDescription()
    const { name, type, nullable } = field
    const path = prefix + field['name']
    if (columns.has(path)) return [{ name, nullable, type: withoutMetadata(type) }]
    const hasVisiblePart = [...columns.keys()].some((column) => column.startsWith(`${path}.`))
    if (!hasVisiblePart || !isObject(type)) return []
    return [{ name, nullable, type: { ...type, fields: trimFields(type['fields'], `${path}.`, columns) } }]
  })
}

function withoutMetadata(type: unknown): unknown {
  if (!isObject(type) || !Array.isArray(type['fields'])) return type
  return {
    ...type,
    fields: type['fields'].map((field: unknown) => {
      if (!isObject(field)) throw invalidDescription()
      return { name: field['name'], nullable: field['nullable'], type: withoutMetadata(field['type']) }
    }),
  }
}

function invalidDescription(): Error {
  return refusal(
    'upstream_response_invalid',
    'the catalog described the table without a schema that can be restricted',
  )
}
