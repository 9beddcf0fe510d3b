import { isIPv6 } from 'node:net'

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/**
 * What an address is counted by: itself, but of IPv6 the network of 64 bits, since whoever has one address there has
 * all of them. An IPv4 address is the same however it is written.
 */
export function addressKey(address: string): string {
  if (!isIPv6(address)) return address
  const four = mapped.exec(address)?.[1]
  if (four !== undefined) return four
  // A zone is no part of the address, and dotted digits stand for the last two groups, which are not needed.
  const [head = '', tail] = address
    .replace(/%.*$/, '')
    .replace(/\d+\.\d+\.\d+\.\d+$/, '0:0')
    .split('::')
  const first = groupsOf(head)
  const last = groupsOf(tail ?? '')
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array.from({ length: zeros }, () => '0'), ...last]
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}
