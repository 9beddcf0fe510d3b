import { z } from 'zod'
import { trustworthyUrlSchema } from './identity/trustworthy-url.ts'

const path = z.string().min(1)
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** How a pod reaches the API server of its Kubernetes cluster, with its own token. */
export const clusterApiServer = {
  apiServer: 'https://kubernetes.default.svc',
  caFile: `${serviceAccountFolder}/ca.crt`,
  tokenFile: `${serviceAccountFolder}/token`,
}

/** How the gateway reaches the API server of its Kubernetes cluster. */
export const apiServerFields = {
  apiServer: trustworthyUrlSchema.default(clusterApiServer.apiServer).describe('URL of the API server.'),
  caFile: path.default(clusterApiServer.caFile).describe('PEM file: CA certificate of the API server.'),
  tokenFile: path
    .default(clusterApiServer.tokenFile)
    .describe('Token of the gateway for the API server; read again when it is rotated.'),
}
