import { z } from 'zod'
import { getMembers } from '../../lib/json/is-object.ts'

/** A schema of JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

const componentPath = '#/components/schemas/'

/**
 * Describes the wire format rather than the parsed value: defaults are not required, null is allowed where tolerated,
 * unknown members are ignored. Referenced schemas are added to `components`.
 */
export function describeSchema(
  name: string,
  schema: z.ZodType,
  components: Map<string, JsonSchema>,
): JsonSchema {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // zod's `readOnly` is about our code; OpenAPI's is about responses.
      delete jsonSchema.readOnly
    },
  })
  // zod names a recursive schema without an id uniquely within one schema only.
  const text = JSON.stringify(described)
    .replaceAll('"$ref":"#/$defs/__', `"$ref":"${componentPath}${name}.`)
    .replaceAll('"$ref":"#/$defs/', `"$ref":"${componentPath}`)
  const { $defs, ...own } = getMembers(JSON.parse(text))
  for (const [key, definition] of Object.entries(getMembers($defs))) {
    const { id: _id, ...part } = getMembers(definition)
    components.set(key.replace(/^__/, `${name}.`), part)
  }
  return own
}

export function schemaReference(name: string): JsonSchema {
  return { $ref: componentPath + name }
}

export function collectMemberNames(schema: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null) return names
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') for (const name of Object.keys(getMembers(value))) names.add(name)
    collectMemberNames(value, names)
  }
  return names
}
