import type { z } from 'zod'
import { mapSettings, toSchemaNode } from '../../lib/schema-node.ts'

/** Printed instead of a secret. Settings that contain it are refused, so that it is never used as one. */
const redactedValue = '(hidden)'

export function redactSecrets(schema: z.ZodType, settings: unknown): unknown {
  return mapSettings(toSchemaNode(schema), settings, (value, nodes) =>
    nodes.some(({ secret }) => secret === true) ? redactedValue : value,
  )
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
