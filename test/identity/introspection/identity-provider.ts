import type { RequestListener } from 'node:http'
import { takeRsaKey } from '../jwt/rsa-keys.ts'
import { startServer, type CountingServer } from '../jwt/token-issuer.ts'

/** The used part of oidc-provider, which has no types. */
interface ProviderModule {
  readonly Provider: new (issuer: string, configuration: object) => { callback(): RequestListener }
}

const { Provider } = (await import(import.meta.resolve('oidc-provider'))) as ProviderModule

const withoutLogins = { redirect_uris: [], response_types: [] }
const thirtyDays = 30 * 86_400

const configuration = {
  jwks: { keys: [{ ...takeRsaKey().export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] },
  ttl: { ClientCredentials: thirtyDays },
  clients: [
    {
      ...withoutLogins,
      client_id: 'loader',
      client_secret: 'loader-secret',
      grant_types: ['client_credentials'],
    },
    { ...withoutLogins, client_id: 'gateway', client_secret: 'gateway-secret', grant_types: [] },
  ],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context: unknown, audience: string) => ({
        scope: 'read write',
        audience,
        accessTokenTTL: thirtyDays,
        accessTokenFormat: 'opaque',
      }),
    },
  },
}

/** A real OpenID provider with one client that may request opaque tokens for any resource. */
export interface IdentityProvider extends CountingServer {
  readonly introspectionUrl: string
  /** Issues an access token for a resource with client credentials. */
  issueToken(resource: string): Promise<string>
  revokeToken(token: string): Promise<void>
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const server = await startServer((request, response) => provider.callback()(request, response))
  const provider = new Provider(server.url, configuration)
  return {
    ...server,
    introspectionUrl: `${server.url}/token/introspection`,
    async issueToken(resource) {
      const response = await post('/token', { grant_type: 'client_credentials', resource })
      const { access_token: token } = (await response.json()) as { access_token?: string }
      if (token === undefined) throw new Error(`The provider gave no token: ${response.status}`)
      return token
    },
    async revokeToken(token) {
      const { ok, status } = await post('/token/revocation', { token })
      if (!ok) throw new Error(`The provider did not revoke: ${status}`)
    },
  }

  function post(path: string, form: Record<string, string>): Promise<Response> {
    const headers = { authorization: `Basic ${btoa('loader:loader-secret')}` }
    return fetch(server.url + path, { method: 'POST', headers, body: new URLSearchParams(form) })
  }
}
