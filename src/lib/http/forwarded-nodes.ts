import { isIPv4, isIPv6 } from 'node:net'
import { toCanonicalAddress } from '../net/addresses.ts'

/** Addresses of the nodes that a request has passed, the first one first; undefined for a node that is concealed. */
type ForwardedNodes = readonly (string | undefined)[]

/**
 * Parses `X-Forwarded-For`: addresses separated by commas, each with or without a port, IPv6 with or without brackets.
 * Empty elements are ignored (RFC 9110, section 5.6.1).
 * Returns undefined if it is malformed.
 */
export function parseForwardedForNodes(value: string): ForwardedNodes | undefined {
  const nodes: (string | undefined)[] = []
  for (const element of value.split(',')) {
    if (emptyElement.test(element)) continue
    const text = elementGrammar.exec(element)?.[1] ?? ''
    const node = toCanonicalAddress(text) ?? parseNode(text)
    if (node === undefined) return undefined
    nodes.push(node === concealed ? undefined : node)
  }
  return nodes
}

const emptyElement = /^[ \t]*$/
const elementGrammar = /^[ \t]*([^ \t]+)[ \t]*$/
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const pairGrammar = new RegExp(`[ \\t]*(${token})=(?:(${token})|"((?:[^"\\\\]|\\\\.)*)")[ \\t]*(;|,|$)`, 'y')
const emptyPart = /[ \t]*(,|$)/y

/**
 * Parses `Forwarded` (RFC 7239, section 4). An element without `for` is one of a concealed node. Returns undefined if the
 * header is malformed, if an element repeats a parameter or has an empty pair. Empty elements are
 * ignored.
 */
export function parseForwardedNodes(value: string): ForwardedNodes | undefined {
  const nodes: (string | undefined)[] = []
  let names = new Set<string>()
  let node: string = concealed
  pairGrammar.lastIndex = 0
  for (let separator = ','; separator !== '';) {
    if (separator === ',') {
      emptyPart.lastIndex = pairGrammar.lastIndex
      const empty = emptyPart.exec(value)
      if (empty !== null) {
        pairGrammar.lastIndex = emptyPart.lastIndex
        separator = empty[1] ?? ''
        continue
      }
    }
    const pair = pairGrammar.exec(value)
    if (pair === null) return undefined
    const [, name = '', plain, quoted = '', next = ''] = pair
    const lowerCase = name.toLowerCase()
    if (names.has(lowerCase)) return undefined
    names.add(lowerCase)
    if (lowerCase === 'for') {
      const parsed = parseNode(plain ?? quoted.replaceAll(/\\(.)/g, '$1'))
      if (parsed === undefined) return undefined
      node = parsed
    }
    separator = next
    if (separator === ';') continue
    nodes.push(node === concealed ? undefined : node)
    names = new Set()
    node = concealed
  }
  return nodes
}

/** Of a node that is `unknown` or has an obfuscated identifier. No address is an empty text. */
const concealed = ''
const nodeGrammar = /^(?:([\d.]+)|\[([\da-fA-F:.]+)\]|(unknown|_[\w.-]+))(?::(?:\d{1,5}|_[\w.-]+))?$/i

/** Parses a node of RFC 7239, section 6; undefined if it is malformed. */
function parseNode(text: string): string | undefined {
  const [, version4, version6, hidden] = nodeGrammar.exec(text) ?? []
  if (hidden !== undefined) return concealed
  if (version4 !== undefined) return isIPv4(version4) ? version4 : undefined
  return version6 !== undefined && isIPv6(version6) ? toCanonicalAddress(version6) : undefined
}
