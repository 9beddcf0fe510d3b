import { z } from 'zod'

/** A schema of JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Where the schemas lie that others refer to. */
const componentPath = '#/components/schemas/'

/**
 * The schema of what stands on the wire, not of what it is read into: defaults are not required, null is allowed
 * where it is tolerated, members that are not listed are ignored. What it refers to is added to `components`.
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
      // What our own code cannot change is not what OpenAPI means by it.
      delete jsonSchema.readOnly
    },
  })
  // A recursive schema without an id has a name that is its own in one schema only.
  const text = JSON.stringify(described)
    .replaceAll('"$ref":"#/$defs/__', `"$ref":"${componentPath}${name}.`)
    .replaceAll('"$ref":"#/$defs/', `"$ref":"${componentPath}`)
  const { $defs, ...own } = JSON.parse(text) as JsonSchema & { $defs?: Record<string, JsonSchema> }
  for (const [key, { id: _id, ...part }] of Object.entries($defs ?? {})) {
    components.set(key.replace(/^__/, `${name}.`), part)
  }
  return own
}

/** A reference to a schema among the components. */
export function schemaReference(name: string): JsonSchema {
  return { $ref: componentPath + name }
}

/** The names of all members of a schema, however deep they stand. */
export function memberNames(schema: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null) return names
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') for (const name of Object.keys(value as object)) names.add(name)
    memberNames(value, names)
  }
  return names
}
