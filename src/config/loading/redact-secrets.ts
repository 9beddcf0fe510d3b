import type { z } from 'zod'
import { toSchemaNode, type SchemaNode } from './setting-variables.ts'

/** What is printed for a secret. Settings that hold it are refused, so that it is never taken for one. */
const redactedValue = '(hidden)'

/** The settings with `hiddenSecret` for every value that the schema marks as secret. */
export function redactSecrets(schema: z.ZodType, settings: unknown): unknown {
  return redact([toSchemaNode(schema)], settings)
}

/** Where in the settings `hiddenSecret` stands. */
export function findRedactedPaths(
  settings: unknown,
  path: readonly (string | number)[] = [],
): (string | number)[][] {
  if (settings === redactedValue) return [[...path]]
  if (Array.isArray(settings))
    return settings.flatMap((item, index) => findRedactedPaths(item, [...path, index]))
  if (typeof settings !== 'object' || settings === null) return []
  return Object.entries(settings).flatMap(([key, value]) => findRedactedPaths(value, [...path, key]))
}

/** Of several ways to write a value, one that says that it is secret is enough. */
function redact(nodes: readonly SchemaNode[], value: unknown): unknown {
  const ways = nodes.flatMap((node) => [node, ...(node.anyOf ?? []), ...(node.oneOf ?? [])])
  if (value === undefined || value === null) return value
  if (ways.some(({ secret }) => secret === true)) return redactedValue
  if (Array.isArray(value)) {
    const items = ways.flatMap((node) => node.items ?? [])
    return value.map((item) => redact(items, item))
  }
  if (typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      redact(
        ways.flatMap((node) => node.properties?.[key] ?? []),
        member,
      ),
    ]),
  )
}
