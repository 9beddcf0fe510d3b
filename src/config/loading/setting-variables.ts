import { z } from 'zod'

/** Prefix of all settings in the environment. */
export const environmentPrefix = 'CATALOG_GATEWAY__'

/** The parts of a JSON Schema that locate settings and mark secrets. */
export interface SchemaNode {
  readonly type?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly oneOf?: readonly SchemaNode[]
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: string | number | boolean | null | undefined
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly required?: readonly string[]
  /** Set with `meta`: never printed. */
  readonly secret?: true
}

export interface SettingVariable {
  readonly name: string
  readonly path: readonly string[]
  readonly isString: boolean
}

/** JSON Schema of the settings as written in a file. */
export function toSchemaNode(schema: z.ZodType): SchemaNode {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SchemaNode
}

/** Environment variable of a setting: `timeouts.headersTimeoutMs` is `..TIMEOUTS__HEADERS_TIMEOUT_MS`. */
export function environmentVariableName(path: readonly string[]): string {
  const words = path.map((key) => key.replaceAll(/[A-Z]/g, '_$&').toUpperCase())
  return environmentPrefix + words.join('__')
}

/** Lists every setting by its variable name. */
export function listSettingVariables(schema: z.ZodType): ReadonlyMap<string, SettingVariable> {
  return new Map(collectVariables(toSchemaNode(schema), []).map((variable) => [variable.name, variable]))
}

function collectVariables(node: SchemaNode, path: readonly string[]): readonly SettingVariable[] {
  if (node.properties === undefined) {
    return [{ name: environmentVariableName(path), path, isString: node.type === 'string' }]
  }
  return Object.entries(node.properties).flatMap(([key, child]) => collectVariables(child, [...path, key]))
}
