import { listHeader } from '../lib/http/header-list.ts'
import { refusal } from '../catalog-api/catalog-error.ts'
import type { ListenSettings } from '../config/index.ts'
import { createAddressMatcher } from '../lib/net/addresses.ts'
import type { DownstreamRequest } from './downstream.ts'

/**
 * Returns the value of a header that only proxies set; undefined without the header, or if the peer is not a trusted
 * proxy. `connectionTokens` are the names that the `Connection` header lists. Throws InvalidInput (400) if the header is
 * listed there, or repeated although it is no list.
 */
export type ReadProxyHeader = (
  request: Pick<DownstreamRequest, 'addresses' | 'head'>,
  connectionTokens: readonly string[],
) => string | undefined

/** Creates the reader of one header (lower-case name). Several lines of a list are one list (RFC 9110, section 5.3). */
export function createProxyHeaderReader(
  trustedProxies: ListenSettings['trustedProxies'],
  header: string,
  isList = false,
): ReadProxyHeader {
  const isTrusted = createAddressMatcher(trustedProxies)
  return ({ addresses: { peer }, head }, connectionTokens) => {
    if (!isTrusted(peer)) return undefined
    const values = listHeader(head.headers, header)
    if (values.length === 0) return undefined
    if (values.length > 1 && !isList) throw refusal('repeated_header', `the header "${header}" is repeated`)
    if (connectionTokens.includes(header)) {
      const message = `the connection header lists "${header}", which the gateway must check`
      throw refusal('ambiguous_header', message)
    }
    return values.join()
  }
}
