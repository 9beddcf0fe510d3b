import { expect, it } from 'vitest'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'

const url = 'http://catalog.example'

function errors(settings: object): string[] {
  const { error } = upstreamSchema.safeParse({ url, ...settings })
  return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []
}

/** Of proxies that authenticate callers, each by another product. */
const identityHeaders =
  'x-remote-user Remote-User impersonate-user x-ssl-client-verify x-auth-request-user cf-access-jwt-assertion ' +
  'x-goog-iap-jwt-assertion x-ms-client-principal-id X-authentik-username X-authentik-entitlements ' +
  'X-authentik-meta-app-member Tailscale-User-Login X-Consumer-Username X-Consumer-Custom-Id X-Anonymous-Consumer ' +
  'X-Credential-Identifier X-Authenticated-Userid X-Vouch-User X-Vouch-IdP-Claims-Groups ' +
  'X-Auth-Request-Preferred-Username X-Auth-Request-Groups Remote-Groups Remote-Email Remote-Name ' +
  'Cf-Access-Authenticated-User-Email X-Goog-Authenticated-User-Email X-Amzn-Oidc-Identity X-Amzn-Oidc-Data ' +
  'X-Amzn-Mtls-Clientcert-Subject X-Userinfo X-Endpoint-API-UserInfo X-ID-Token X-Jwt-Payload ' +
  'X-Pomerium-Claim-Email X-WebAuth-User X-SSL-Client-S-DN X-Client-Verify X-Hasura-Role X-Trino-User X-Spiffe-Id ' +
  'X-SSO-Uid On-Behalf-Of'

/** Of proxies, about the request and the connection. */
const proxyHeaders =
  'Forwarded True-Client-IP CF-Connecting-IP X-Cluster-Client-IP X-Envoy-Original-Path X-HTTP-Method-Override ' +
  'X-Rewrite-URL X-Vouch-Anything Tailscale-Anything Cf-Anything'

it.each([
  ['expected `identity: original`', 'Authorization x-api-key api-key cookie'],
  ['expected `identity: assertion`', identityHeaders],
  ['upstreams trust', proxyHeaders],
  ['callers must not set it', 'x-forwarded-for x-original-url'],
  ['it is a hop-by-hop header', 'proxy-authorization transfer-encoding'],
  ['the gateway sets it', 'content-type x-request-id'],
  ['the gateway sets the headers of the catalog API', 'x-catalog-assertion'],
  ['forwards the context', 'x-catalog-ctx-tenant'],
  ['expected the setting `database`', 'x-lancedb-database x-lancedb-user-id'],
  ['only reads of blobs', 'range'],
  ['policies decide', 'x-vend-credentials'],
  ['expected letters, digits and - only', 'x_tenant remote.user Remote_User x-forwarded!for'],
  ['it is always forwarded; remove it', 'user-agent'],
])('of callers: %s: %s', (says, names) => {
  for (const name of names.split(' ')) {
    const found = errors({ allowedRequestHeaders: ['x-tenant', name] })
    expect(found, name).toEqual([expect.stringMatching(/^allowedRequestHeaders\.1: /)])
    expect(found[0], name).toContain(says)
  }
})

it('of callers: a name with a space', () => {
  expect(errors({ allowedRequestHeaders: ['x tenant'] })).toEqual([
    expect.stringContaining('expected the name of a header'),
  ])
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
