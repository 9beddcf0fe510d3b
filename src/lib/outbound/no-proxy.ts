import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { createAddressMatcher, validateAddressRange } from '../net/address-range.ts'

/** A host that connections go to. */
export interface ProxiedHost {
  /** DNS name or IP address, without brackets. */
  readonly host: string
  readonly port: number
}

/** Hosts whose connections are direct. */
export interface NoProxyList {
  includes(host: ProxiedHost): boolean
  /** Entries that match nothing because they are malformed. */
  readonly malformed: readonly string[]
}

type MatchesHost = (host: ProxiedHost) => boolean

const namePattern = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/
const allHosts: MatchesHost = () => true

/**
 * Parses the entries of `NO_PROXY`, with the rules of Go and most of those of curl: `*` for all hosts; a name, which
 * includes its subdomains; a name that begins with a dot (or `*.`), for its subdomains only; an IP address; a CIDR range.
 * All but `*` and a range may end in `:PORT`. Addresses match only URLs with an address: no name is resolved.
 */
export function parseNoProxy(entries: readonly string[]): NoProxyList {
  const parsed = entries.map((entry) => ({ entry, matches: parseEntry(entry) }))
  const rules = parsed.flatMap(({ matches }) => matches ?? [])
  return {
    includes: (host) => rules.some((matches) => matches(host)),
    malformed: parsed.filter(({ matches }) => matches === undefined).map(({ entry }) => entry),
  }
}

/** Splits the value of an environment variable at commas and white space. */
export function splitNoProxy(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '')
}

/** Whether a host is the machine itself: never reached through a proxy. */
export function isLoopback(host: string): boolean {
  const name = toComparableName(host)
  return isLoopbackAddress(name) || name === 'localhost' || name.endsWith('.localhost')
}

const isLoopbackAddress = createAddressMatcher(['127.0.0.0/8', '::1/128'])

function parseEntry(entry: string): MatchesHost | undefined {
  if (entry === '*') return allHosts
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
  const ascii = /^[ -~]*$/.test(name) ? name : domainToASCII(name)
  return ascii.toLowerCase().replace(/(?<=.)\.$/, '')
}
