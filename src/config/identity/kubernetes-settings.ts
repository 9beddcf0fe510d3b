import { z } from 'zod'
import { audienceSchema, sourceNameSchema } from './token-issuer-settings.ts'
import { apiServerFields } from '../kubernetes-api-server-settings.ts'

/** The service accounts of the Kubernetes cluster that the gateway runs in. */
export const kubernetesSchema = z.strictObject({
  name: sourceNameSchema,
  audience: audienceSchema,
  issuer: z
    .string()
    .min(1)
    .default('https://kubernetes.default.svc.cluster.local')
    .describe('Issuer of the cluster (--service-account-issuer).'),
  ...apiServerFields,
  maxLifetimeSeconds: z
    .number()
    .positive()
    .default(86_400)
    .describe('Maximum lifetime of tokens: tokens of a deleted account are accepted until they expire.'),
})

export type KubernetesSettings = z.output<typeof kubernetesSchema>
