import { isIP, SocketAddress } from 'node:net'

const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/

/**
 * Returns the one form of an IP address: IPv6 as in RFC 5952, and IPv4-mapped addresses (RFC 4291, section 2.5.5.2) as the
 * IPv4 address. Returns undefined for any other text, and for an address with a zone, which means nothing elsewhere.
 */
export function toCanonicalAddress(text: string): string | undefined {
  const version = isIP(text)
  if (version !== 6) return version === 4 ? text : undefined
  if (text.includes('%')) return undefined
  const { address } = new SocketAddress({ address: text, family: 'ipv6' })
  return mappedIpv4.exec(address)?.[1] ?? address
}
