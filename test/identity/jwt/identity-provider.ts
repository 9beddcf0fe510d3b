import type { RequestListener } from 'node:http'
import type { JWK } from 'jose'
import { takeRsaKey } from './rsa-keys.ts'
import { startServer, type CountingServer } from './token-issuer.ts'

/** The used part of oidc-provider, which has no types. */
interface ProviderModule {
  readonly Provider: new (issuer: string, configuration: object) => { callback(): RequestListener }
}

const { Provider } = (await import(import.meta.resolve('oidc-provider'))) as ProviderModule

const client = { id: 'loader', secret: 'loader-secret' }
const gateway = { id: 'gateway', secret: 'gateway-secret' }
const thirtyDays = 30 * 86_400

type TokenFormat = 'jwt' | 'opaque'

/** A real OpenID provider with one client that may request tokens for any resource. */
export interface IdentityProvider extends CountingServer {
  readonly issuer: string
  readonly keysUrl: string
  readonly introspectionUrl: string
  /** Issues an access token for a resource with client credentials; signed by default. */
  issueToken(resource: string, format?: TokenFormat): Promise<string>
  revokeToken(token: string): Promise<void>
}

export function makeProviderKey(kid: string): JWK {
  return { ...(takeRsaKey().export({ format: 'jwk' }) as JWK), kid, alg: 'RS256', use: 'sig' }
}

export async function startIdentityProvider(keys: readonly JWK[]): Promise<IdentityProvider> {
  const formats = new Map<string, TokenFormat>()
  const server = await startServer((request, response) => provider.callback()(request, response))
  const issuer = server.url
  const provider = new Provider(issuer, configure(keys, formats))
  return {
    ...server,
    issuer,
    keysUrl: `${issuer}/jwks`,
    introspectionUrl: `${issuer}/token/introspection`,
    async issueToken(resource, format = 'jwt') {
      formats.set(resource, format)
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
    const headers = { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` }
    return fetch(issuer + path, { method: 'POST', headers, body: new URLSearchParams(form) })
  }
}

function configure(keys: readonly JWK[], formats: ReadonlyMap<string, TokenFormat>): object {
  return {
    jwks: { keys },
    ttl: { ClientCredentials: thirtyDays },
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: gateway.id,
        client_secret: gateway.secret,
        grant_types: [],
        redirect_uris: [],
        response_types: [],
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: 'read write',
          audience: resource,
          accessTokenTTL: thirtyDays,
          accessTokenFormat: formats.get(resource) ?? 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  }
}
