import type { z } from 'zod'
import { listAlternatives, toSchemaNode, type SchemaNode } from './setting-variables.ts'

/** Printed instead of a secret. Settings that contain it are refused, so that it is never used as one. */
const redactedValue = '(hidden)'

export function redactSecrets(schema: z.ZodType, settings: unknown): unknown {
  return redact([toSchemaNode(schema)], settings)
}

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

function redact(nodes: readonly SchemaNode[], value: unknown): unknown {
  const alternatives = nodes.flatMap(listAlternatives)
  if (value === undefined || value === null) return value
  if (alternatives.some(({ secret }) => secret === true)) return redactedValue
  if (Array.isArray(value)) {
    const items = alternatives.flatMap((node) => node.items ?? [])
    return value.map((item) => redact(items, item))
  }
  if (typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      redact(
        alternatives.flatMap((node) => node.properties?.[key] ?? []),
        member,
      ),
    ]),
  )
}
