/** How a process reaches the API server of its cluster. */
export interface ClusterAccess {
  /** URL; its path becomes a prefix. */
  readonly apiServer: string
  /** PEM file of the CA certificate, read again for each connection; unused for `http:`. */
  readonly caFile: string
  /** File of the bearer token, which Kubernetes rotates; read again for each request. */
  readonly tokenFile: string
}

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** What every pod with a service account has. */
export const inCluster: ClusterAccess = {
  apiServer: 'https://kubernetes.default.svc',
  caFile: `${serviceAccountFolder}/ca.crt`,
  tokenFile: `${serviceAccountFolder}/token`,
}
