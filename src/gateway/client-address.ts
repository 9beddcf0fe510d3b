import { refusal, type CatalogError } from '../catalog-api/catalog-error.ts'
import type { ListenSettings } from '../config/index.ts'
import { unknownAddress, createAddressMatcher } from '../lib/net/addresses.ts'
import { parseForwardedNodes, parseForwardedForNodes } from '../lib/http/forwarded-nodes.ts'
import type { DownstreamRequest } from './downstream.ts'
import { createProxyHeaderReader } from './proxy-header.ts'

/**
 * Returns the address of the client of a request; `connectionTokens` are the names that its `Connection` header lists.
 * Throws InvalidInput (400) if a trusted proxy states it in a form that two readers could understand differently.
 */
export type ReadClientAddress = (request: DownstreamRequest, connectionTokens: readonly string[]) => string

/** Proxies in a row. A longer list is refused before it is parsed. */
const maxProxies = 32

const readConnection: ReadClientAddress = ({ addresses }) => addresses.client

/**
 * Creates the reader for these settings. The client is the last address in the chosen header that is not a trusted proxy;
 * everything before it may be invented. If all are trusted, it is the first; without the header, the proxy itself.
 */
export function createClientAddressReader({
  trustedProxies,
  clientAddressFrom: header = 'x-forwarded-for',
}: Pick<ListenSettings, 'trustedProxies' | 'clientAddressFrom'>): ReadClientAddress {
  if (trustedProxies.length === 0 || header === 'proxy-protocol') return readConnection
  const isTrusted = createAddressMatcher(trustedProxies)
  const readHeader = createProxyHeaderReader(trustedProxies, header, true)
  const parse = header === 'forwarded' ? parseForwardedNodes : parseForwardedForNodes
  return (request, connectionTokens) => {
    const value = readHeader(request, connectionTokens)
    if (value === undefined) return request.addresses.peer
    if (value.split(',', maxProxies + 1).length > maxProxies)
      throw invalidHeader(header, `more than ${maxProxies} addresses`)
    const nodes = parse(value)
    if (nodes === undefined) throw invalidHeader(header, 'a malformed list of addresses')
    if (nodes.length === 0) return request.addresses.peer
    const client = nodes.findLastIndex((address) => address === undefined || !isTrusted(address))
    return nodes[Math.max(client, 0)] ?? unknownAddress
  }
}

function invalidHeader(header: string, problem: string): CatalogError {
  return refusal('invalid_client_address', `the header "${header}" has ${problem}`)
}
