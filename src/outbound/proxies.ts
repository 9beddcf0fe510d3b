import { isIP } from 'node:net'
import { createAddressMatcher, fixed, type Followed, validateAddressRange } from '../lib/index.ts'

/** A host, and whether connections to it use TLS. */
export interface OutboundTarget {
  /** DNS name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
}

/** The target of a URL. */
export function toTarget(url: Readonly<Record<'protocol' | 'hostname' | 'port', string>>): OutboundTarget {
  const isSecure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { isSecure, host, port: Number(url.port) || (isSecure ? 443 : 80) }
}

type MatchesHost = (host: OutboundTarget) => boolean

const namePattern = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/

/** Whether a host is the machine itself: never reached through a proxy. */
function isLoopback(host: string): boolean {
  const name = toComparableName(host)
  return isLoopbackAddress(name) || name === 'localhost' || name.endsWith('.localhost')
}

const isLoopbackAddress = createAddressMatcher(['127.0.0.0/8', '::1/128'])

/**
 * Parses an entry of `NO_PROXY`, with the rules of Go and most of those of curl: `*` for all hosts; a name, which includes
 * its subdomains; a name that begins with a dot (or `*.`), for its subdomains only; an IP address; a CIDR range. All but `*`
 * and a range may end in `:PORT`. Addresses match only URLs with an address: no name is resolved. Undefined if malformed.
 */
export function parseNoProxy(entry: string): MatchesHost | undefined {
  if (entry === '*') return () => true
  if (entry.includes('/')) return parseRange(entry)
  const [, bracketed, plain, portText] = /^(?:\[([^[\]]+)\]|([^[\]]+?))(?::(\d{1,5}))?$/.exec(entry) ?? []
  // An IPv6 address without brackets has no port.
  const isBareIpv6 = isIP(entry) === 6
  const name = toComparableName(isBareIpv6 ? entry : (bracketed ?? plain ?? ''))
  const port = isBareIpv6 || portText === undefined ? undefined : Number(portText)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  const matchesName =
    bracketed !== undefined || isIP(name) !== 0
      ? parseRange(`${name}/${isIP(name) === 6 ? 128 : 32}`)
      : parseName(name)
  return matchesName && ((host) => (port === undefined || host.port === port) && matchesName(host))
}

function parseRange(range: string): MatchesHost | undefined {
  if (validateAddressRange(range) !== undefined) return undefined
  const isInRange = createAddressMatcher([range])
  return ({ host }) => isInRange(host)
}

function parseName(text: string): MatchesHost | undefined {
  const name = text.replace(/^\*?\./, '')
  if (!namePattern.test(name)) return undefined
  const suffix = `.${name}`
  if (name !== text) return ({ host }) => toComparableName(host).endsWith(suffix)
  return ({ host }) => `.${toComparableName(host)}`.endsWith(suffix)
}

/** In lower case, as in URLs, and without the dot of the root. */
function toComparableName(name: string): string {
  return name.toLowerCase().replace(/(?<=.)\.$/, '')
}

/** An HTTP proxy that connections are tunnelled through. */
export interface Proxy {
  /** `http` or `https`, without user and password. */
  readonly url: URL
  /** Value of `proxy-authorization`; undefined if the proxy requires none. */
  readonly authorization: Followed<string | undefined>
}

/** Returns the proxy for connections to a host; undefined if they are direct. */
export type FindProxy = (target: OutboundTarget) => Proxy | undefined

/**
 * Reads `HTTPS_PROXY` and `HTTP_PROXY`, in lower case (which takes precedence) or upper case, unless the settings have a
 * `proxy`. Loopback addresses and `localhost` never have one. Throws if a variable is not the URL of an HTTP proxy.
 */
export function createProxyFinder(
  environment: NodeJS.ProcessEnv,
  proxy: Proxy | undefined,
  noProxy: readonly string[],
): FindProxy {
  if (noProxy.includes('*')) return () => undefined
  const secure = proxy ?? readProxy(environment, 'https_proxy')
  const plain = proxy ?? readProxy(environment, 'http_proxy')
  if (secure === undefined && plain === undefined) return () => undefined
  const exceptions = noProxy.flatMap((entry) => parseNoProxy(entry) ?? [])
  return (target) => {
    const found = target.isSecure ? secure : plain
    if (found === undefined || isLoopback(target.host)) return undefined
    return exceptions.some((matches) => matches(target)) ? undefined : found
  }
}

/** The entries of `NO_PROXY`, which commas or white space separate. */
export function readNoProxy(environment: NodeJS.ProcessEnv): readonly string[] {
  const text = readVariable(environment, 'no_proxy')?.value ?? ''
  return text.split(/[\s,]+/).filter((entry) => entry !== '')
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
