import { z } from 'zod'

/** What namespaces are called that are not counted by themselves. */
export const otherNamespaces = 'other'

const maxNamespaces = 100

/** What metrics tell besides what they always do. */
export const metricsSchema = z.strictObject({
  namespaces: z
    .array(z.string().min(1).max(128))
    .max(maxNamespaces)
    .refine((names) => new Set(names).size === names.length, 'duplicate name')
    .refine((names) => !names.includes(otherNamespaces), `expected no name "${otherNamespaces}"`)
    .optional()
    .describe('Top-level namespaces used as values of the label catalog_namespace; all others are "other".'),
})

/** Which namespaces are counted by themselves. */
export type MetricsSettings = z.output<typeof metricsSchema>
