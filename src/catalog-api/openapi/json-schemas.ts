import { getMembers, isObject } from '../../lib/index.ts'
import { schemaDefinitions, type JsonSchema } from '../schemas.ts'

const componentPath = '#/components/schemas/'
const maxInt32 = 2 ** 31 - 1

/**
 * Describes the form of requests and responses that the interface documents, in terms that generators of clients
 * understand. Other accepted forms (null for absent members, other forms of the same value) are not described.
 * `components` are `describeDefinitions`.
 */
export function describeSchema(schema: JsonSchema, components: ReadonlyMap<string, JsonSchema>): JsonSchema {
  const own = referToComponents(schema)
  const { $ref } = own
  const referred = typeof $ref === 'string' ? components.get($ref.slice(componentPath.length)) : undefined
  return referred ?? simplify(own)
}

/** Describes the schemas that others refer to. */
export function describeDefinitions(): Map<string, JsonSchema> {
  const definitions = Object.entries(schemaDefinitions)
  return new Map(definitions.map(([name, schema]) => [name, simplify(referToComponents(schema))]))
}

function referToComponents(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', `"$ref":"${componentPath}`)
  return getMembers(JSON.parse(text))
}

function simplify(described: unknown): JsonSchema {
  // zod's `readOnly` is about our code; OpenAPI's is about responses.
  const {
    readOnly: _readOnly,
    propertyNames: _names,
    // zod adds one to a format.
    pattern: _pattern,
    prefixItems,
    anyOf,
    oneOf,
    ...schema
  } = getMembers(described)
  // Generated code would have a class for each alternative. The first is that of the interface.
  if (Array.isArray(anyOf)) return { ...schema, ...simplify(anyOf[0]) }
  if (Array.isArray(oneOf)) return { ...schema, ...mergeAlternatives(oneOf) }
  // Few languages have tuples.
  const items: unknown = Array.isArray(prefixItems) ? prefixItems.at(-1) : schema['items']
  const { properties, additionalProperties } = schema
  return {
    ...withFormat(schema),
    ...(isObject(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [name, simplifyMember(member)]),
      ),
    }),
    ...(isObject(items) && { items: simplify(items) }),
    ...(isObject(additionalProperties) && { additionalProperties: simplify(additionalProperties) }),
  }
}

/** Null is the same as absent in a member, not in a map. */
function simplifyMember(member: unknown): JsonSchema {
  const { type } = getMembers(member)
  return simplify(Array.isArray(type) ? { ...getMembers(member), type: type[0] } : member)
}

/** Describes objects with one of several members as one object. */
function mergeAlternatives(alternatives: readonly unknown[]): JsonSchema {
  const merged = alternatives.map((alternative) => simplify(alternative)['properties'])
  return { type: 'object', properties: Object.assign({}, ...merged), minProperties: 1, maxProperties: 1 }
}

/** Without a format, generated code has integers of 32 bits. */
function withFormat(schema: JsonSchema): JsonSchema {
  if (schema['type'] === 'number') return { ...schema, format: 'float' }
  if (schema['type'] !== 'integer') return schema
  const { minimum, maximum, ...integer } = schema
  return {
    ...integer,
    format: typeof maximum === 'number' && maximum <= maxInt32 ? 'int32' : 'int64',
    ...(minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
  }
}

export function schemaReference(name: string): JsonSchema {
  return { $ref: componentPath + name }
}
