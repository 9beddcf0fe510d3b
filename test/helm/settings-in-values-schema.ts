import { z } from 'zod'
import { backendSettingsSchema } from '../../src/backend/settings/backend-settings.ts'
import { gatewaySettingsSchema } from '../../src/config/gateway-settings.ts'
import { findUnit } from '../../src/config/loading/setting-units.ts'
import { environmentVariableName } from '../../src/config/loading/setting-variables.ts'

type Json = Readonly<Record<string, unknown>>

/** Returns the schema of the values with the definitions of `config` and `catalog.config`, derived from the settings. */
export function withSettings(valuesSchema: string): string {
  const { definitions, ...rest } = JSON.parse(valuesSchema) as { readonly definitions: Json }
  const derived = {
    gatewaySettings: toValuesSchema(gatewaySettingsSchema),
    catalogSettings: toValuesSchema(backendSettingsSchema),
  }
  return `${JSON.stringify({ ...rest, definitions: { ...definitions, ...derived } }, undefined, 2)}\n`
}

function toValuesSchema(settings: z.ZodType): Json {
  const options = { io: 'input', unrepresentable: 'any', target: 'draft-7' } as const
  const { $schema: _, ...schema } = z.toJSONSchema(settings, options) as Json
  return toPartial(schema, [])
}

/**
 * Removes `required` outside of lists, because the chart and environment variables add settings; secrets, because
 * values are not secret; and patterns with assertions, which the engine of helm does not have. The path is undefined
 * within lists, whose members have no variables.
 */
function toPartial(node: Json, path: readonly string[] | undefined, name = ''): Json {
  const { required, pattern, properties, items, anyOf, oneOf, secret, ...rest } = node
  const unit = findUnit(name, rest)
  if (unit !== undefined && !isComputed(name)) {
    const { type, minimum, exclusiveMinimum, maximum, default: fallback, description, ...others } = rest
    const number = { type, minimum, exclusiveMinimum, maximum, ...others }
    return { default: fallback, description, anyOf: [number, { type: 'string', pattern: unit.pattern }] }
  }
  if (secret === true) return { const: describeSecret(path) }
  const alternatives = (list: unknown): Json[] => (list as Json[]).map((each) => toPartial(each, undefined))
  return {
    ...rest,
    ...(path === undefined && required !== undefined && { required }),
    ...(typeof pattern === 'string' && !pattern.includes('(?!') && { pattern }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as Readonly<Record<string, Json>>).map(([key, child]) => [
          key,
          toPartial(child, path && [...path, key], key),
        ]),
      ),
    }),
    ...(items !== undefined && { items: toPartial(items as Json, undefined) }),
    ...(anyOf !== undefined && { anyOf: alternatives(anyOf) }),
    ...(oneOf !== undefined && { oneOf: alternatives(oneOf) }),
  }
}

/** Whether the chart computes with a setting, for the grace period of pods: it must be a number. */
function isComputed(name: string): boolean {
  return name === 'drainTimeoutMs'
}

/** Helm prints it as the expected value: a schema has no messages. */
function describeSecret(path: readonly string[] | undefined): string {
  const variable = path === undefined ? '' : `, or ${environmentVariableName(path)} from a Secret in extraEnv`
  return `(values are not secret: expected a file of a Secret${variable})`
}
