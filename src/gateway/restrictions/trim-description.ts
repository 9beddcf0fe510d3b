import { refusal } from '../../catalog-api/catalog-error.ts'
import type { Steps } from '../../lib/async/run-in-slices.ts'
import { isObject, parseJsonBytes } from '../../lib/json/json-values.ts'
import { listStructs, type VisibleColumns } from '../../policy/restrictions/restriction.ts'

/** The members of a description that tell nothing of hidden rows and columns. */
const describedMembers = ['table', 'namespace', 'version', 'schema'] as const

/**
 * Removes from the description of a table all but its id, its version and the visible columns: statistics count hidden rows, and
 * a location and metadata lead past the restriction. In steps, one for each field. Throws ServiceUnavailable (502) for a
 * response without a schema in the form of the catalog API.
 */
export function* trimDescription(body: Buffer, columns: VisibleColumns): Steps<Buffer> {
  const described = parseJsonBytes(body)
  if (!isObject(described)) throw invalidDescription()
  const trimmed: Record<string, unknown> = {}
  for (const name of describedMembers) {
    const value = described[name]
    if (value === undefined || value === null) continue
    trimmed[name] = name === 'schema' ? yield* trimSchema(value, columns) : value
  }
  return Buffer.from(JSON.stringify(trimmed))
}

function* trimSchema(schema: unknown, columns: VisibleColumns): Steps<unknown> {
  const visible = { columns, structs: new Set<string>() }
  for (const path of columns.keys()) {
    for (const struct of listStructs(path)) visible.structs.add(struct)
    yield
  }
  return { fields: yield* trimFields(isObject(schema) ? schema['fields'] : undefined, '', visible) }
}

interface VisibleFields {
  readonly columns: VisibleColumns
  /** Paths of structs with a visible part. */
  readonly structs: ReadonlySet<string>
}

/** Keeps visible fields, and of a struct with visible fields only these. Metadata may say anything. */
function* trimFields(fields: unknown, prefix: string, visible: VisibleFields): Steps<readonly unknown[]> {
  if (!Array.isArray(fields)) throw invalidDescription()
  const trimmed: unknown[] = []
  for (const field of fields as readonly unknown[]) {
    if (!isObject(field) || typeof field['name'] !== 'string') throw invalidDescription()
    const { name, type, nullable } = field
    const path = prefix + field['name']
    if (visible.columns.has(path)) {
      trimmed.push({ name, nullable, type: withoutMetadata(type) })
    } else if (visible.structs.has(path) && isObject(type)) {
      const parts = yield* trimFields(type['fields'], `${path}.`, visible)
      trimmed.push({ name, nullable, type: { ...type, fields: parts } })
    }
    yield
  }
  return trimmed
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
