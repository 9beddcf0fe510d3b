import { LRUCache } from 'lru-cache'
import { BlockList, isIP, isIPv6, type Socket, SocketAddress } from 'node:net'
import type { Duplex } from 'node:stream'

/** In place of the address of a client that a proxy does not know, or conceals. No condition on addresses accepts it. */
export const unknownAddress = 'unknown'

/** The address of the other end of a connection. To be called when it is accepted: empty for a closed one. */
export function readPeerAddress({ remoteAddress = '' }: Socket): string {
  return toCanonicalAddress(remoteAddress) ?? remoteAddress
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

/** IPv6 addresses are counted by their /64 network, because a host usually controls all addresses in it. */
export function getAddressKey(address: string): string {
  if (!isIPv6(address)) return address
  // A zone is not part of the address, and dotted digits replace the last two groups, which are not used.
  const [head = '', tail] = address
    .replace(/%.*$/, '')
    .replace(/\d+\.\d+\.\d+\.\d+$/, '0:0')
    .split('::')
  const first = splitGroups(head)
  const last = splitGroups(tail ?? '')
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array.from({ length: zeros }, () => '0'), ...last]
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

function splitGroups(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

const ranges = new LRUCache<string, BlockList>({ max: 1000 })

/**
 * Whether an IP address is in a CIDR range (RFC 4632), such as `10.0.0.0/8` or `2001:db8::/32`. Throws if either
 * argument is invalid.
 */
export function isInAddressRange(address: string, cidr: string): boolean {
  if (isIP(address) === 0) throw new Error('the address of the caller is unknown')
  let range = ranges.get(cidr)
  if (range === undefined) ranges.set(cidr, (range = addRange(new BlockList(), cidr)))
  return checkAddress(range, address)
}

/** Returns why the text is not a CIDR range; undefined if it is one. */
export function validateAddressRange(cidr: string): string | undefined {
  try {
    addRange(new BlockList(), cidr)
    return undefined
  } catch {
    return `${JSON.stringify(cidr)} is not an address range; expected for example "10.0.0.0/8" or "2001:db8::/32"`
  }
}

/** Returns whether an address is in any of the ranges; false for text that is not an address. Throws for an invalid range. */
export function createAddressMatcher(cidrs: readonly string[]): (address: string) => boolean {
  const list = cidrs.reduce(addRange, new BlockList())
  return (address) => isIP(address) !== 0 && checkAddress(list, address)
}

function checkAddress(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function addRange(list: BlockList, cidr: string): BlockList {
  const [address = '', length = '', ...rest] = cidr.split('/')
  const version = isIP(address)
  const isLength = /^\d{1,3}$/.test(length) && Number(length) <= (version === 6 ? 128 : 32)
  if (version === 0 || !isLength || rest.length > 0) throw new Error('no range')
  list.addSubnet(address, Number(length), version === 6 ? 'ipv6' : 'ipv4')
  return list
}

/** Time for the peer to read the last bytes and to close its side. */
const lingerMs = 1_000

/**
 * Writes the last bytes, ends the connection, and destroys it if the peer has not closed it within a second. Destroying
 * a connection that has unread input resets it, and the peer may lose bytes it has not read.
 */
export function closeGracefully(socket: Duplex, lastBytes = ''): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(lastBytes)
}
