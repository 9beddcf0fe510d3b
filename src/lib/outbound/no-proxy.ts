import { BlockList, isIP } from 'node:net'
import { domainToASCII } from 'node:url'

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
  if (isIP(name) !== 0) return isInRanges(loopbackRanges, name)
  return name === 'localhost' || name.endsWith('.localhost')
}

const loopbackRanges = new BlockList()
loopbackRanges.addSubnet('127.0.0.0', 8, 'ipv4')
loopbackRanges.addAddress('::1', 'ipv6')

function parseEntry(entry: string): MatchesHost | undefined {
  if (entry === '*') return allHosts
  if (entry.includes('/')) return parseRange(entry)
  const [, bracketed, plain, portText] = /^(?:\[([^[\]]+)\]|([^[\]]+?))(?::(\d{1,5}))?$/.exec(entry) ?? []
  // An IPv6 address without brackets has no port.
  const isBareIpv6 = isIP(entry) === 6
  const name = toComparableName(isBareIpv6 ? entry : (bracketed ?? plain ?? ''))
  const port = isBareIpv6 || portText === undefined ? undefined : Number(portText)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  const matchesName = bracketed !== undefined || isIP(name) !== 0 ? parseAddress(name) : parseName(name)
  return matchesName && ((host) => (port === undefined || host.port === port) && matchesName(host))
}

function parseRange(entry: string): MatchesHost | undefined {
  const [address = '', length = '', ...rest] = entry.split('/')
  const version = isIP(address)
  const isLength = /^\d{1,3}$/.test(length) && Number(length) <= (version === 6 ? 128 : 32)
  if (version === 0 || !isLength || rest.length > 0) return undefined
  const ranges = new BlockList()
  ranges.addSubnet(address, Number(length), toFamily(version))
  return ({ host }) => isInRanges(ranges, host)
}

function parseAddress(address: string): MatchesHost | undefined {
  const version = isIP(address)
  if (version === 0) return undefined
  const ranges = new BlockList()
  ranges.addAddress(address, toFamily(version))
  return ({ host }) => isInRanges(ranges, host)
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

function isInRanges(ranges: BlockList, host: string): boolean {
  const version = isIP(host)
  return version !== 0 && ranges.check(host, toFamily(version))
}

function toFamily(version: number): 'ipv4' | 'ipv6' {
  return version === 6 ? 'ipv6' : 'ipv4'
}
