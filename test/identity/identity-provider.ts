import type { RequestListener } from 'node:http'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { startServer, type CountingServer } from './token-issuer.ts'

/** As much of oidc-provider as is used here; it comes without types. */
interface ProviderModule {
  readonly Provider: new (issuer: string, configuration: object) => { callback(): RequestListener }
}

const { Provider } = (await import(import.meta.resolve('oidc-provider'))) as ProviderModule

const client = { id: 'loader', secret: 'loader-secret' }
const thirtyDays = 30 * 86_400

/** A real OpenID provider with one client that may have tokens for any resource. */
export interface IdentityProvider extends CountingServer {
  readonly issuer: string
  readonly keysUrl: string
  /** Publishes these keys from now on, and signs with the first. */
  useKeys(keys: readonly JWK[]): void
  /** A JWT access token for a resource, by client credentials. */
  issueToken(resource: string): Promise<string>
}

export async function makeProviderKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' }
}

export async function startIdentityProvider(keys: readonly JWK[]): Promise<IdentityProvider> {
  let provider: InstanceType<ProviderModule['Provider']> | undefined
  const server = await startServer((request, response) => provider?.callback()(request, response))
  const issuer = server.url

  function useKeys(published: readonly JWK[]): void {
    provider = new Provider(issuer, configure(published))
  }

  useKeys(keys)
  return {
    ...server,
    issuer,
    keysUrl: `${issuer}/jwks`,
    useKeys,
    async issueToken(resource) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
      })
      const { access_token: token } = (await response.json()) as { access_token?: string }
      if (token === undefined) throw new Error(`The provider gave no token: ${response.status}`)
      return token
    },
  }
}

function configure(keys: readonly JWK[]): object {
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
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: 'read write',
          audience: resource,
          accessTokenTTL: thirtyDays,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  }
}
