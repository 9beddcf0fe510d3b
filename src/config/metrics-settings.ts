import { z } from 'zod'

/** Label value of all namespaces that are not listed. */
export const otherNamespaces = 'other'

const maxNamespaces = 100

export const metricsSchema = z.strictObject({
  namespaces: z
    .array(z.string().min(1).max(128))
    .max(maxNamespaces)
    .refine((names) => new Set(names).size === names.length, 'duplicate name')
    .refine((names) => !names.includes(otherNamespaces), `expected no name "${otherNamespaces}"`)
    .optional()
    .describe('Top-level namespaces used as values of the label catalog_namespace; all others are "other".'),
})

export type MetricsSettings = z.output<typeof metricsSchema>
