import { z } from 'zod'

export const environmentPrefix = 'CATALOG_GATEWAY__'

/** The parts of a JSON Schema that locate settings and mark secrets. */
const schemaNode = z
  .object({
    type: z.string(),
    get properties() {
      return z.record(z.string(), schemaNode)
    },
    get items() {
      return schemaNode
    },
    get anyOf() {
      return z.array(schemaNode)
    },
    get oneOf() {
      return z.array(schemaNode)
    },
    description: z.string(),
    default: z.unknown(),
    enum: z.array(z.unknown()),
    const: z.union([z.string(), z.number(), z.boolean(), z.null()]),
    minimum: z.number(),
    maximum: z.number(),
    exclusiveMinimum: z.number(),
    required: z.array(z.string()),
    /** Set with `meta`: never printed. */
    secret: z.literal(true),
  })
  .partial()

export type SchemaNode = z.output<typeof schemaNode>

export interface SettingVariable {
  readonly name: string
  readonly path: readonly string[]
  readonly isString: boolean
}

export function toSchemaNode(schema: z.ZodType): SchemaNode {
  return schemaNode.parse(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
}

/** Returns the node and the alternatives that it offers. */
export function listAlternatives(node: SchemaNode): readonly SchemaNode[] {
  return [node, ...(node.anyOf ?? []), ...(node.oneOf ?? [])]
}

/** Environment variable of a setting: `timeouts.headersTimeoutMs` is `..TIMEOUTS__HEADERS_TIMEOUT_MS`. */
export function environmentVariableName(path: readonly string[]): string {
  const words = path.map((key) => key.replaceAll(/[A-Z]/g, '_$&').toUpperCase())
  return environmentPrefix + words.join('__')
}

export function listSettingVariables(schema: z.ZodType): ReadonlyMap<string, SettingVariable> {
  return new Map(collectVariables(toSchemaNode(schema), []).map((variable) => [variable.name, variable]))
}

function collectVariables(node: SchemaNode, path: readonly string[]): readonly SettingVariable[] {
  if (node.properties === undefined) {
    return [{ name: environmentVariableName(path), path, isString: node.type === 'string' }]
  }
  return Object.entries(node.properties).flatMap(([key, child]) => collectVariables(child, [...path, key]))
}
