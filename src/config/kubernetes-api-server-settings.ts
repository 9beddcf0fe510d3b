import { z } from 'zod'
import { trustworthyUrlSchema } from './identity/trustworthy-url.ts'

const path = z.string().min(1)

/** Where a pod finds its own token and the certificate of the API server. */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** How the gateway reaches the API server of its Kubernetes cluster. */
export const apiServerFields = {
  apiServer: trustworthyUrlSchema
    .default('https://kubernetes.default.svc')
    .describe('URL of the API server.'),
  caFile: path
    .default(`${serviceAccountFolder}/ca.crt`)
    .describe('PEM file: CA certificate of the API server.'),
  tokenFile: path
    .default(`${serviceAccountFolder}/token`)
    .describe('Token of the gateway for the API server; read again when it is rotated.'),
}
