import { z } from 'zod'
import type { TokenCaller, Claims } from './claims.ts'
import { assertIssuer } from './open-jwks.ts'
import { type ClusterAccess, createKubernetesClient, inCluster } from '../../kubernetes/index.ts'
import type { TokenIssuer } from '../../config/index.ts'
import { AuthenticationError } from '../authentication-error.ts'

/**
 * How tokens of every cluster are verified: signed by one of these algorithms (--service-account-signing-key-file), for at
 * most a day, since tokens of a deleted account are accepted until they expire.
 */
export const clusterTokens: Pick<TokenIssuer, 'algorithms' | 'maxLifetimeSeconds'> = {
  algorithms: ['RS256', 'ES256', 'ES384', 'ES512'],
  maxLifetimeSeconds: 86_400,
}

/**
 * Fetches the JWKS of the cluster. Sends the token only to its API server. Reads certificate and token each time: both are
 * rotated.
 */
export async function fetchClusterJwks(
  issuer: string,
  signal: AbortSignal,
  access: ClusterAccess = inCluster,
): Promise<unknown> {
  const client = createKubernetesClient(access)
  try {
    const discovered = await client.get('/.well-known/openid-configuration', undefined, signal)
    assertIssuer(z.looseObject({ issuer: z.string() }).parse(discovered).issuer, issuer)
    return await client.get('/openid/v1/jwks', undefined, signal)
  } finally {
    await client.close()
  }
}

const dnsName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const boundAccountSchema = z.looseObject({
  namespace: z.string().regex(dnsName),
  serviceaccount: z.looseObject({ name: z.string().regex(dnsName) }),
})

/** Adds the groups that Kubernetes assigns. Throws AuthenticationError unless the token names exactly one account. */
export function readServiceAccount({ sub, 'kubernetes.io': account }: Claims): TokenCaller {
  const bound = boundAccountSchema.safeParse(account)
  if (!bound.success) throw new AuthenticationError('invalid_subject')
  const { namespace, serviceaccount } = bound.data
  const subject = `system:serviceaccount:${namespace}:${serviceaccount.name}`
  if (sub !== subject) throw new AuthenticationError('invalid_subject')
  return { subject, groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`] }
}
