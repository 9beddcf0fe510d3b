import { fixed, type Followed } from '../fs/follow-files.ts'
import { isLoopback, parseNoProxy, splitNoProxy, type ProxiedHost } from './no-proxy.ts'

/** An HTTP proxy that connections are tunnelled through. */
export interface Proxy {
  /** `http` or `https`, without user and password. */
  readonly url: URL
  /** Value of `proxy-authorization`; undefined if the proxy requires none. */
  readonly authorization: Followed<string | undefined>
}

/** A host, and whether connections to it use TLS. */
export interface OutboundTarget extends ProxiedHost {
  readonly isSecure: boolean
}

/** Returns the proxy for connections to a host; undefined if they are direct. */
export type FindProxy = (target: OutboundTarget) => Proxy | undefined

/**
 * Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in lower case (which takes precedence) or upper case. Loopback
 * addresses and `localhost` never have a proxy. `proxy` and `noProxy` of the settings replace the variables. Throws if a variable is not the URL of an HTTP proxy.
 */
export function createProxyFinder(
  environment: NodeJS.ProcessEnv,
  proxy: Proxy | undefined,
  noProxy: readonly string[] = readNoProxy(environment),
): FindProxy {
  if (noProxy.includes('*')) return () => undefined
  const secure = proxy ?? readProxy(environment, 'https_proxy')
  const plain = proxy ?? readProxy(environment, 'http_proxy')
  if (secure === undefined && plain === undefined) return () => undefined
  const exceptions = parseNoProxy(noProxy)
  return (target) => {
    const found = target.isSecure ? secure : plain
    return found === undefined || isLoopback(target.host) || exceptions.includes(target) ? undefined : found
  }
}

/** The entries of `NO_PROXY`. */
export function readNoProxy(environment: NodeJS.ProcessEnv): readonly string[] {
  return splitNoProxy(readVariable(environment, 'no_proxy')?.value ?? '')
}

function readProxy(environment: NodeJS.ProcessEnv, name: string): Proxy | undefined {
  const variable = readVariable(environment, name)
  if (variable === undefined) return undefined
  const { value } = variable
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // The value may contain a password.
    throw new Error(
      `${variable.name}: expected the URL of an HTTP proxy, such as http://proxy.example:3128; SOCKS is not supported`,
    )
  }
  const authorization = readUserInfo(url, variable.name)
  return { url: new URL(url.origin), authorization: fixed(authorization) }
}

function readUserInfo({ username, password }: URL, variable: string): string | undefined {
  if (username === '' && password === '') return undefined
  try {
    return toBasicAuthorization(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  } catch {
    throw new Error(`${variable}: expected user and password to be percent-encoded`)
  }
}

/** `pair` is `USER:PASSWORD` (RFC 7617). */
export function toBasicAuthorization(pair: string): string {
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

function readVariable(
  environment: NodeJS.ProcessEnv,
  lowerCase: string,
): { readonly name: string; readonly value: string } | undefined {
  for (const name of [lowerCase, lowerCase.toUpperCase()]) {
    const value = environment[name]?.trim()
    if (value !== undefined && value !== '') return { name, value }
  }
  return undefined
}
