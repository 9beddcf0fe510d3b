import { isIPv6 } from 'node:net'

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
