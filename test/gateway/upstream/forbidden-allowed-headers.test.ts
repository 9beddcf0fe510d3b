import { expect, it } from 'vitest'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'

const url = 'http://catalog.example'

function errors(settings: object): string[] {
  const { error } = upstreamSchema.safeParse({ url, ...settings })
  return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []
}

/** Of proxies that authenticate callers, each by another product. */
const identityHeaders = [
  'X-authentik-username',
  'X-authentik-entitlements',
  'X-authentik-meta-app-member',
  'Tailscale-User-Login',
  'X-Consumer-Username',
  'X-Consumer-Custom-Id',
  'X-Anonymous-Consumer',
  'X-Credential-Identifier',
  'X-Authenticated-Userid',
  'X-Vouch-User',
  'X-Vouch-IdP-Claims-Groups',
  'X-Auth-Request-Preferred-Username',
  'X-Auth-Request-Groups',
  'Remote-Groups',
  'Remote-Email',
  'Remote-Name',
  'Cf-Access-Authenticated-User-Email',
  'X-Goog-Authenticated-User-Email',
  'X-Amzn-Oidc-Identity',
  'X-Amzn-Oidc-Data',
  'X-Amzn-Mtls-Clientcert-Subject',
  'X-Userinfo',
  'X-Endpoint-API-UserInfo',
  'X-ID-Token',
  'X-Jwt-Payload',
  'X-Pomerium-Claim-Email',
  'X-WebAuth-User',
  'X-SSL-Client-S-DN',
  'X-Client-Verify',
  'X-Hasura-Role',
  'X-Trino-User',
  'X-Spiffe-Id',
  'X-SSO-Uid',
  'On-Behalf-Of',
]

/** Of proxies, about the request and the connection. */
const proxyHeaders = [
  'Forwarded',
  'True-Client-IP',
  'CF-Connecting-IP',
  'X-Cluster-Client-IP',
  'X-Envoy-Original-Path',
  'X-HTTP-Method-Override',
  'X-Rewrite-URL',
  'X-Vouch-Anything',
  'Tailscale-Anything',
  'Cf-Anything',
]

it.each([
  ['Authorization', 'expected `identity: original`'],
  ['x-api-key', 'expected `identity: original`'],
  ['api-key', 'expected `identity: original`'],
  ['cookie', 'expected `identity: original`'],
  ['proxy-authorization', 'it is a hop-by-hop header'],
  ['transfer-encoding', 'it is a hop-by-hop header'],
  ['content-type', 'the gateway sets it for the body'],
  ['x-request-id', 'the gateway sets it'],
  ['x-catalog-assertion', 'the gateway sets the headers of the catalog API'],
  ['x-catalog-ctx-tenant', 'forwards the context'],
  ['x-lancedb-database', 'expected the setting `database`'],
  ['x-lancedb-user-id', 'expected the setting `database`'],
  ['x-remote-user', 'expected `identity: assertion`'],
  ['Remote-User', 'expected `identity: assertion`'],
  ['impersonate-user', 'expected `identity: assertion`'],
  ['x-ssl-client-verify', 'expected `identity: assertion`'],
  ['x-auth-request-user', 'expected `identity: assertion`'],
  ['cf-access-jwt-assertion', 'expected `identity: assertion`'],
  ['x-goog-iap-jwt-assertion', 'expected `identity: assertion`'],
  ['x-ms-client-principal-id', 'expected `identity: assertion`'],
  ['x-forwarded-for', 'callers must not set it'],
  ['x-original-url', 'callers must not set it'],
  ['range', 'only reads of blobs'],
  ['x-vend-credentials', 'policies decide'],
  ['x_tenant', 'expected letters, digits and - only'],
  ['remote.user', 'expected letters, digits and - only'],
  ['Remote_User', 'expected letters, digits and - only'],
  ['x-forwarded!for', 'expected letters, digits and - only'],
  ...identityHeaders.map((name): [string, string] => [name, 'expected `identity: assertion`']),
  ...proxyHeaders.map((name): [string, string] => [name, 'upstreams trust']),
  ['x tenant', 'expected the name of a header'],
  ['user-agent', 'it is always forwarded; remove it'],
])('of callers: %s', (name, says) => {
  const found = errors({ allowedRequestHeaders: ['x-tenant', name] })
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(/^allowedRequestHeaders\.1: /)
  expect(found[0]).toContain(says)
})

it.each([
  ['Set-Cookie', 'callers authenticate to the gateway'],
  ['www-authenticate', 'callers authenticate to the gateway'],
  ['location', 'redirects are not followed'],
  ['x-catalog-policy-revision', 'the gateway sets the headers of the catalog API'],
  ['connection', 'it is a hop-by-hop header'],
  ['content-type', 'it is always forwarded; remove it'],
])('of upstreams: %s', (name, says) => {
  const found = errors({ allowedResponseHeaders: [name] })
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(says)
})

it('allows other headers, in lower case', () => {
  const settings = upstreamSchema.parse({
    url,
    allowedRequestHeaders: ['X-Tenant', 'baggage', 'b3'],
    allowedResponseHeaders: ['Server-Timing'],
  })
  expect(settings).toMatchObject({
    allowedRequestHeaders: ['x-tenant', 'baggage', 'b3'],
    allowedResponseHeaders: ['server-timing'],
  })
})

it.each(['', '/sales', 'sales/', 'sales//eu', 'sa les', 'sälès'])(
  '"%s" is not a valid database',
  (database) => {
    expect(errors({ database })).toEqual([
      'database: expected the name of a database, and its prefix if it has one: "sales/eu"',
    ])
  },
)
