import { BlockList, isIP } from 'node:net'
import { LRUCache } from 'lru-cache'

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
