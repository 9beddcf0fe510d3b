import type { SchemaNode } from './schema-node.ts'

export const environmentPrefix = 'CATALOG_GATEWAY__'

export interface SettingVariable {
  readonly name: string
  readonly path: readonly string[]
  readonly isString: boolean
}

/** Environment variable of a setting: `timeouts.drainTimeoutMs` is `..TIMEOUTS__DRAIN_TIMEOUT_MS`. */
export function environmentVariableName(path: readonly string[]): string {
  const words = path.map((key) => key.replaceAll(/[A-Z]/g, '_$&').toUpperCase())
  return environmentPrefix + words.join('__')
}

export function listSettingVariables(schema: SchemaNode): ReadonlyMap<string, SettingVariable> {
  return new Map(collectVariables(schema, []).map((variable) => [variable.name, variable]))
}

function collectVariables(node: SchemaNode, path: readonly string[]): readonly SettingVariable[] {
  if (node.properties === undefined) {
    return [{ name: environmentVariableName(path), path, isString: node.type === 'string' }]
  }
  return Object.entries(node.properties).flatMap(([key, child]) => collectVariables(child, [...path, key]))
}
