import { z } from 'zod'
import {
  algorithmsSchema,
  audienceSchema,
  clockSkewSecondsSchema,
  jwksTimingFields,
  sourceNameSchema,
} from './token-issuer-settings.ts'
import { trustworthyUrlSchema } from './trustworthy-url.ts'

const path = z.string().min(1)

/** Where a pod finds its own token and the certificate of the API server. */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The service accounts of the Kubernetes cluster that the gateway runs in. */
export const kubernetesSchema = z.strictObject({
  name: sourceNameSchema,
  audience: audienceSchema,
  issuer: z
    .string()
    .min(1)
    .default('https://kubernetes.default.svc.cluster.local')
    .describe('Issuer of the cluster (--service-account-issuer).'),
  apiServer: trustworthyUrlSchema
    .default('https://kubernetes.default.svc')
    .describe('URL of the API server, which serves the JWKS of the cluster.'),
  caFile: path
    .default(`${serviceAccountFolder}/ca.crt`)
    .describe('PEM file: CA certificate of the API server.'),
  tokenFile: path
    .default(`${serviceAccountFolder}/token`)
    .describe('Token with which the gateway fetches the JWKS.'),
  algorithms: algorithmsSchema.default(['RS256', 'ES256', 'ES384', 'ES512']),
  clockSkewSeconds: clockSkewSecondsSchema,
  maxLifetimeSeconds: z
    .number()
    .positive()
    .default(86_400)
    .describe('Maximum lifetime of tokens: tokens of a deleted account are accepted until they expire.'),
  ...jwksTimingFields,
})

export type KubernetesSettings = z.output<typeof kubernetesSchema>
