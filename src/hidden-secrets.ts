import type { z } from 'zod'
import { schemaNodeOf, type SchemaNode } from './setting-variables.ts'

/** What is printed for a secret. Settings that hold it are refused, so that it is never taken for one. */
const hiddenSecret = '(hidden)'

/** The settings with `hiddenSecret` for every value that the schema marks as secret. */
export function withoutSecrets(schema: z.ZodType, settings: unknown): unknown {
  return hide([schemaNodeOf(schema)], settings)
}

/** Where in the settings `hiddenSecret` stands. */
export function hiddenPaths(
  settings: unknown,
  path: readonly (string | number)[] = [],
): (string | number)[][] {
  if (settings === hiddenSecret) return [[...path]]
  if (Array.isArray(settings)) return settings.flatMap((item, index) => hiddenPaths(item, [...path, index]))
  if (typeof settings !== 'object' || settings === null) return []
  return Object.entries(settings).flatMap(([key, value]) => hiddenPaths(value, [...path, key]))
}

/** Of several ways to write a value, one that says that it is secret is enough. */
function hide(nodes: readonly SchemaNode[], value: unknown): unknown {
  const ways = nodes.flatMap((node) => [node, ...(node.anyOf ?? []), ...(node.oneOf ?? [])])
  if (value === undefined || value === null) return value
  if (ways.some(({ secret }) => secret === true)) return hiddenSecret
  if (Array.isArray(value)) {
    const items = ways.flatMap((node) => node.items ?? [])
    return value.map((item) => hide(items, item))
  }
  if (typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      hide(
        ways.flatMap((node) => node.properties?.[key] ?? []),
        member,
      ),
    ]),
  )
}
