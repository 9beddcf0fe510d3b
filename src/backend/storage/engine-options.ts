import type { Outbound } from 'catalog-gateway/lib'

type EngineOptions = Readonly<Record<string, string>>

/**
 * Adds to the options of the engine, which opens connections of its own, the proxy of `endpoint` and the trusted
 * authorities, by default `authorities`. The returned function returns the same object until one of them changes.
 */
export function addOutboundOptions(
  options: EngineOptions,
  endpoint: string,
  authorities: readonly string[],
  { findProxy, getTlsOptions }: Pick<Outbound, 'findProxy' | 'getTlsOptions'>,
): () => EngineOptions {
  const { protocol, hostname, port } = new URL(endpoint)
  const isSecure = protocol === 'https:'
  const target = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (isSecure ? 443 : 80),
    isSecure,
  }
  const proxy = findProxy(target)
  let last:
    | { readonly authorization: string | undefined; readonly ca: unknown; readonly options: EngineOptions }
    | undefined
  return () => {
    const authorization = proxy?.authorization.current
    const { ca = authorities } = getTlsOptions({})
    if (last === undefined || last.authorization !== authorization || last.ca !== ca) {
      const added = {
        // An exception for the host keeps the engine from finding a proxy in the environment by rules of its own.
        ...(proxy === undefined
          ? { proxy_url: 'http://localhost', proxy_excludes: target.host }
          : { proxy_url: addUser(proxy.url, authorization) }),
        // The engine trusts it for all connections, but ignores it without `proxy_url`.
        proxy_ca_certificate: [ca].flat().join('\n'),
      }
      last = { authorization, ca, options: { ...options, ...added } }
    }
    return last.options
  }
}

/** `authorization` has the scheme Basic. */
function addUser(proxy: URL, authorization: string | undefined): string {
  if (authorization === undefined) return proxy.href
  const pair = Buffer.from(authorization.slice('Basic '.length), 'base64').toString()
  const [user = ''] = pair.split(':', 1)
  const url = new URL(proxy)
  url.username = encodeURIComponent(user)
  url.password = encodeURIComponent(pair.slice(user.length + 1))
  return url.href
}
