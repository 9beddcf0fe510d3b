import { type Socket, isIP, SocketAddress } from 'node:net'

/** IP addresses of a connection in their one form (canonical-address.ts). */
export interface ConnectionAddresses {
  /** The other end of the TCP connection: a proxy, or the client itself. Empty if the connection is closed. */
  readonly peer: string
  /** The client: the one that a proxy has stated by PROXY protocol, otherwise the peer. */
  readonly client: string
}

/** In place of the address of a client that a proxy does not know, or conceals. No condition on addresses accepts it. */
export const unknownAddress = 'unknown'

/** To be called when a connection is accepted: a closed one has no addresses. */
export function readConnectionAddresses({ remoteAddress = '' }: Socket): ConnectionAddresses {
  const peer = toCanonicalAddress(remoteAddress) ?? remoteAddress
  return { peer, client: peer }
}

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
