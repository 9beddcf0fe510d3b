import { BlockList, isIP } from 'node:net'
import { LRUCache } from 'lru-cache'

const ranges = new LRUCache<string, BlockList>({ max: 1000 })

/**
 * Whether an IP address is in a CIDR range (RFC 4632), such as `10.0.0.0/8` or `2001:db8::/32`. Throws if either
 * argument is invalid.
 */
export function isInAddressRange(address: string, cidr: string): boolean {
  const version = isIP(address)
  if (version === 0) throw new Error('the address of the caller is unknown')
  let range = ranges.get(cidr)
  if (range === undefined) ranges.set(cidr, (range = parseAddressRange(cidr)))
  return range.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

/** Returns why the text is not a CIDR range; undefined if it is one. */
export function validateAddressRange(cidr: string): string | undefined {
  try {
    parseAddressRange(cidr)
    return undefined
  } catch {
    return `${JSON.stringify(cidr)} is not an address range; expected for example "10.0.0.0/8" or "2001:db8::/32"`
  }
}

function parseAddressRange(cidr: string): BlockList {
  const [address = '', length = '', ...rest] = cidr.split('/')
  const version = isIP(address)
  const isLength = /^\d{1,3}$/.test(length) && Number(length) <= (version === 6 ? 128 : 32)
  if (version === 0 || !isLength || rest.length > 0) throw new Error('no range')
  const range = new BlockList()
  range.addSubnet(address, Number(length), version === 6 ? 'ipv6' : 'ipv4')
  return range
}
