import { z } from 'zod'
import { audienceSchema, sourceNameSchema } from './token-issuer-settings.ts'

/** The service accounts of the Kubernetes cluster that the gateway runs in. */
export const kubernetesSchema = z.strictObject({
  name: sourceNameSchema,
  audience: audienceSchema,
  issuer: z
    .string()
    .min(1)
    .default('https://kubernetes.default.svc.cluster.local')
    .describe('Issuer of the cluster (--service-account-issuer).'),
})

export type KubernetesSettings = z.output<typeof kubernetesSchema>
