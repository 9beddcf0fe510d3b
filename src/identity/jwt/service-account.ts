import { readFile } from 'node:fs/promises'
import { Agent } from 'undici'
import { z } from 'zod'
import { readPemFile } from '../../lib/tls/pem-file.ts'
import type { TokenCaller, Claims } from './claims.ts'
import { fetchDocument } from './fetch-document.ts'
import {
  algorithmsSchema,
  audienceSchema,
  clockSkewSecondsSchema,
  jwksTimingFields,
  sourceNameSchema,
} from '../../config/token-issuer-settings.ts'
import { assertIssuer, type FetchJwks } from './fetch-jwks.ts'
import { AuthenticationError } from '../authentication-error.ts'
import { trustworthyUrlSchema } from '../../config/trustworthy-url.ts'

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

/** The service accounts of a cluster, checked and with all defaults. */
export type KubernetesSettings = z.output<typeof kubernetesSchema>

/**
 * The keys of the cluster, from its API server and from nowhere else: the token of the gateway is for nobody but it.
 * Certificate and token are read each time, because both are exchanged while a pod lives.
 */
export function createClusterFetcher(settings: KubernetesSettings): FetchJwks {
  const { apiServer, caFile, tokenFile, issuer } = settings
  const base = apiServer.replace(/\/$/, '')
  return async (signal) => {
    const token = (await readFile(tokenFile, 'utf8')).trim()
    const ca = await readPemFile(caFile, 'CERTIFICATE')
    const dispatcher = new Agent({ connect: { ca, rejectUnauthorized: true } })
    const ask = (route: string): Promise<string> =>
      fetchDocument(base + route, { signal, dispatcher, headers: { authorization: `Bearer ${token}` } })
    try {
      const discovered: unknown = JSON.parse(await ask('/.well-known/openid-configuration'))
      assertIssuer(z.looseObject({ issuer: z.string() }).parse(discovered).issuer, issuer)
      return await ask('/openid/v1/jwks')
    } finally {
      await dispatcher.destroy()
    }
  }
}

const dnsName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const boundAccountSchema = z.looseObject({
  namespace: z.string().regex(dnsName),
  serviceaccount: z.looseObject({ name: z.string().regex(dnsName) }),
})

/**
 * The caller of a token of a service account: `system:serviceaccount:<namespace>:<name>`, with the groups that
 * Kubernetes itself gives it. Throws AuthenticationRefused if the token does not name one, or names two.
 */
export function readServiceAccount({ sub, 'kubernetes.io': account }: Claims): TokenCaller {
  const bound = boundAccountSchema.safeParse(account)
  if (!bound.success) throw new AuthenticationError('invalid_subject')
  const { namespace, serviceaccount } = bound.data
  const subject = `system:serviceaccount:${namespace}:${serviceaccount.name}`
  if (sub !== subject) throw new AuthenticationError('invalid_subject')
  return { subject, groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`] }
}
