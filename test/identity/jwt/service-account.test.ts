import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { kubernetesSchema } from '../../../src/config/identity-settings.ts'
import type { ClusterAccess } from '../../../src/kubernetes/kubernetes-client.ts'
import { authenticateBearer, openAuthenticator, captureReason } from '../test-authenticator.ts'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../mtls/test-certificates.ts'
import { claimsWith, makeIssuerKey, signed } from './forged-tokens.ts'
import { eventually } from '../../support/eventually.ts'
import { listenLocally } from '../../support/local-server.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

const clusterIssuer = 'https://kubernetes.default.svc.cluster.local'
const key = makeIssuerKey('RS256', 'S1x0mHKZ0ZzJqv9cCt7m1y0QFZ2n8l1Ck3Z7aQ1xY0s')

/** Creates a token like those of the API server for a projected volume. */
function projectedToken(changes: Record<string, unknown> = {}): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    aud: ['catalog'],
    exp: now + 3607,
    iat: now,
    iss: clusterIssuer,
    jti: '7c0a0ac5-9d6c-4d10-8b0f-7d1f7a6e0a49',
    'kubernetes.io': {
      namespace: 'etl',
      node: { name: 'worker-1', uid: '6ac8f7cf-5ba0-4d0c-a3fd-6c4a3bfa3b54' },
      pod: { name: 'loader-7d9c', uid: 'f6bb02a2-1c36-4a4f-8e1c-5cf0e5a6c9a1' },
      serviceaccount: { name: 'loader', uid: '0f1d3f0a-6d5e-4c3e-9a52-51ec0a3b0b3f' },
      warnafter: undefined,
    },
    nbf: now,
    sub: 'system:serviceaccount:etl:loader',
    ...changes,
  }
  return signed(key, claimsWith(claims))
}

describe.skipIf(!hasOpenssl())('service accounts of a cluster (skipped without openssl)', () => {
  const folder = sharedFolder()
  let authority: TestAuthority
  let certificate: TestCertificate
  const kubernetes = kubernetesSchema.parse({ name: 'cluster', audience: 'catalog' })
  let cluster: ClusterAccess
  const requested: string[] = []
  let issuerOfDiscovery = clusterIssuer

  beforeAll(async () => {
    authority = await makeAuthority(folder, 'cluster')
    certificate = await authority.issue('apiserver', 'IP:127.0.0.1', { usage: 'serverAuth' })
  })

  /** Like a real API server: TLS with its own authority, no access without a token, and keys of their own type alone. */
  beforeEach(async () => {
    issuerOfDiscovery = clusterIssuer
    requested.length = 0
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, 'token-of-the-pod\n')
    const server = createServer(
      { cert: certificate.cert, key: certificate.key },
      ({ url, headers }, response) => {
        requested.push(`${url} ${headers.authorization}`)
        const responses: Record<string, unknown> = {
          '/.well-known/openid-configuration': {
            issuer: issuerOfDiscovery,
            // The external address of the API server may be unreachable from a pod.
            jwks_uri: 'https://172.18.0.2:6443/openid/v1/jwks',
            response_types_supported: ['id_token'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: ['RS256'],
          },
          '/openid/v1/jwks': { keys: [key.published] },
        }
        const document =
          headers.authorization === 'Bearer token-of-the-pod' ? responses[url ?? ''] : undefined
        const type = url === '/openid/v1/jwks' ? 'application/jwk-set+json' : 'application/json'
        const isAccepted = headers.accept?.split(', ').includes(type) === true
        const status = headers.authorization === undefined ? 401 : document === undefined ? 403 : 200
        response
          .writeHead(isAccepted ? status : 406, { 'content-type': type })
          .end(JSON.stringify(document ?? {}))
      },
    )
    cluster = {
      apiServer: `https://127.0.0.1:${await listenLocally(server)}`,
      caFile: authority.certFile,
      tokenFile,
    }
  })

  it('a service account is a principal with the groups assigned by Kubernetes', async () => {
    const authenticator = await openAuthenticator({ kubernetes, cluster, jwksTiming: { cooldown: 0.001 } })
    expect(await authenticateBearer(authenticator, projectedToken())).toEqual({
      name: 'cluster:system:serviceaccount:etl:loader',
      method: 'token',
      groups: new Set(['cluster:system:serviceaccounts', 'cluster:system:serviceaccounts:etl']),
      credentialId: '7c0a0ac5-9d6c-4d10-8b0f-7d1f7a6e0a49',
      issuer: 'cluster',
      claims: expect.objectContaining({ sub: 'system:serviceaccount:etl:loader' }),
    })
    expect(requested).toEqual([
      '/.well-known/openid-configuration Bearer token-of-the-pod',
      '/openid/v1/jwks Bearer token-of-the-pod',
    ])
  })

  it.each<[string, string, Record<string, unknown>]>([
    ['for the API server', 'wrong_audience', { aud: [clusterIssuer] }],
    ['without an audience', 'wrong_audience', { aud: undefined }],
    ['of another cluster', 'unknown_issuer', { iss: 'https://other.svc.cluster.local' }],
    ['of a Secret, which never ends', 'unknown_issuer', { iss: 'kubernetes/serviceaccount', exp: undefined }],
    ['without an end', 'missing_expiry', { exp: undefined }],
    ['that lives for a year', 'token_lifetime_too_long', { exp: Math.floor(Date.now() / 1000) + 31_536_000 }],
    ['of a user', 'invalid_subject', { sub: 'admin', 'kubernetes.io': undefined }],
    [
      'whose subject is another account',
      'invalid_subject',
      { sub: 'system:serviceaccount:kube-system:admin' },
    ],
    ['without an account', 'invalid_subject', { 'kubernetes.io': { namespace: 'etl' } }],
    [
      'with a colon in the namespace',
      'invalid_subject',
      {
        sub: 'system:serviceaccount:a:b:c',
        'kubernetes.io': { namespace: 'a:b', serviceaccount: { name: 'c' } },
      },
    ],
  ])('a token %s', async (_what, expected, changes) => {
    const authenticator = await openAuthenticator({ kubernetes, cluster, jwksTiming: { cooldown: 0.001 } })
    expect(await captureReason(authenticateBearer(authenticator, projectedToken(changes)))).toBe(expected)
  })

  it('does not trust an API server of another authority', async () => {
    const { certFile } = await makeAuthority(folder, 'another')
    const authenticator = await openAuthenticator({
      kubernetes,
      cluster: { ...cluster, caFile: certFile },
    })
    expect(await captureReason(authenticateBearer(authenticator, projectedToken()))).toBe('jwks_unavailable')
    expect(requested).toEqual([])
  })

  it('does not trust an API server of another cluster', async () => {
    issuerOfDiscovery = 'https://other.svc.cluster.local'
    const authenticator = await openAuthenticator({ kubernetes, cluster, jwksTiming: { cooldown: 0.001 } })
    expect(await captureReason(authenticateBearer(authenticator, projectedToken()))).toBe('jwks_unavailable')
  })

  it('reads the token of the pod again after its rotation', async () => {
    await writeFile(cluster.tokenFile, 'token-that-ended')
    const authenticator = await openAuthenticator({ kubernetes, cluster, jwksTiming: { cooldown: 0.001 } })
    expect(await captureReason(authenticateBearer(authenticator, projectedToken()))).toBe('jwks_unavailable')
    await writeFile(cluster.tokenFile, 'token-of-the-pod')
    const principal = await eventually(() => authenticateBearer(authenticator, projectedToken()))
    expect(principal.name).toContain(':etl:loader')
  })
})
