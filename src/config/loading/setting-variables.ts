import { z } from 'zod'

/** The names of all settings in the environment begin with it. */
export const environmentPrefix = 'CATALOG_GATEWAY__'

/** What of a JSON Schema tells where the settings are, and which of them are secret. */
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
  /** Given with `meta`: never printed. */
  readonly secret?: true
}

/** A variable of the environment that holds a setting. */
export interface SettingVariable {
  readonly name: string
  readonly path: readonly string[]
  readonly isString: boolean
}

/** The settings as they are written, as JSON Schema. */
export function toSchemaNode(schema: z.ZodType): SchemaNode {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SchemaNode
}

/** The name of the variable of a setting: `timeouts.connectMs` is `..TIMEOUTS__CONNECT_MS`. */
export function environmentVariableName(path: readonly string[]): string {
  const words = path.map((key) => key.replaceAll(/[A-Z]/g, '_$&').toUpperCase())
  return environmentPrefix + words.join('__')
}

/** Every setting by the name of its variable. */
export function listSettingVariables(schema: z.ZodType): ReadonlyMap<string, SettingVariable> {
  return new Map(collectVariables(toSchemaNode(schema), []).map((variable) => [variable.name, variable]))
}

function collectVariables(node: SchemaNode, path: readonly string[]): readonly SettingVariable[] {
  if (node.properties === undefined) {
    return [{ name: environmentVariableName(path), path, isString: node.type === 'string' }]
  }
  return Object.entries(node.properties).flatMap(([key, child]) => collectVariables(child, [...path, key]))
}
