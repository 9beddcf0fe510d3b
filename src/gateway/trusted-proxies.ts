import type { IncomingRequest } from '../http1/index.ts'
import { createAddressMatcher, listHeader, toCanonicalAddress, unknownAddress } from '../lib/index.ts'
import { type CatalogError, refusal } from '../catalog-api/index.ts'
import type { ListenSettings } from '../config/index.ts'
import { X509Certificate } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import { unescape } from 'node:querystring'
import { LRUCache } from 'lru-cache'

type ProxiedRequest = Pick<IncomingRequest, 'peer' | 'head'>

/**
 * Creates the reader of one header (lower-case name) that only proxies set: it returns undefined without the header, and
 * if the peer is not a trusted proxy. `connectionTokens` are the names that the `Connection` header lists. Several lines
 * of a list are one list (RFC 9110, section 5.3). Throws InvalidInput (400) if the header is listed there, or repeated
 * although it is no list.
 */
function createProxyHeaderReader(
  isTrusted: (address: string) => boolean,
  header: string,
  isList = false,
): (request: ProxiedRequest, connectionTokens: readonly string[]) => string | undefined {
  return ({ peer, head }, connectionTokens) => {
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

export type ReadClientAddress = ReturnType<typeof createClientAddressReader>

/**
 * Creates the reader of the address of the client of a request. That is the last address in X-Forwarded-For that is not a
 * trusted proxy; everything before it may be invented. If all are trusted, it is the first; without the header, the proxy
 * itself. It throws InvalidInput (400) for a list that two readers could understand differently.
 */
export function createClientAddressReader({ trustedProxies }: Pick<ListenSettings, 'trustedProxies'>) {
  if (trustedProxies.length === 0) return ({ peer }: ProxiedRequest) => peer
  const isTrusted = createAddressMatcher(trustedProxies)
  const readHeader = createProxyHeaderReader(isTrusted, 'x-forwarded-for', true)
  return (request: ProxiedRequest, connectionTokens: readonly string[]): string => {
    const value = readHeader(request, connectionTokens)
    if (value === undefined) return request.peer
    const nodes = parseForwardedFor(value)
    if (nodes === undefined) {
      const expected = `expected at most ${maxProxies} addresses, separated by commas`
      throw refusal('invalid_client_address', `the header "x-forwarded-for" is malformed; ${expected}`)
    }
    return nodes.findLast((address) => !isTrusted(address)) ?? nodes[0] ?? request.peer
  }
}

/** Proxies in a row. */
const maxProxies = 32
const emptyElement = /^[ \t]*$/
const elementGrammar = /^[ \t]*([^ \t]+)[ \t]*$/
/** As in RFC 7239, section 6. */
const nodeGrammar = /^(?:([\d.]+)|\[([\da-fA-F:.]+)\]|(unknown|_[\w.-]+))(?::(?:\d{1,5}|_[\w.-]+))?$/i

/**
 * Parses `X-Forwarded-For`: addresses separated by commas, each with or without a port, IPv6 with or without brackets. Empty
 * elements are ignored (RFC 9110, section 5.6.1), and a node that is concealed is `unknownAddress`. Undefined for a longer
 * or malformed list.
 */
export function parseForwardedFor(value: string): readonly string[] | undefined {
  const nodes: string[] = []
  const elements = value.split(',', maxProxies + 1)
  if (elements.length > maxProxies) return undefined
  for (const element of elements) {
    if (emptyElement.test(element)) continue
    const node = parseNode(elementGrammar.exec(element)?.[1] ?? '')
    if (node === undefined) return undefined
    nodes.push(node)
  }
  return nodes
}

function parseNode(text: string): string | undefined {
  const [, version4, version6, hidden] = nodeGrammar.exec(text) ?? []
  if (hidden !== undefined) return unknownAddress
  if (version4 !== undefined) return isIPv4(version4) ? version4 : undefined
  return version6 === undefined || isIPv6(version6) ? toCanonicalAddress(version6 ?? text) : undefined
}

export type ReadForwardedCertificate = ReturnType<typeof createForwardedCertificateReader>

const maxHeaderLength = 16 * 1024
/** By header. Parsing one takes longer than all else about a head. */
const maxCachedCertificates = 256

/**
 * Creates the reader of the certificate of the client that a trusted proxy states, undefined without one. It throws
 * InvalidInput (400) if the header is not exactly one certificate. The proxy has verified its chain; its time of validity is
 * not checked here.
 */
export function createForwardedCertificateReader({
  trustedProxies,
  clientCertificateFrom: header,
}: Pick<ListenSettings, 'trustedProxies' | 'clientCertificateFrom'>) {
  if (header === undefined) return () => undefined
  const readHeader = createProxyHeaderReader(createAddressMatcher(trustedProxies), header)
  const parse = header === 'client-cert' ? parseClientCert : parseForwardedClientCert
  const cache = new LRUCache<string, X509Certificate>({ max: maxCachedCertificates })
  return (request: ProxiedRequest, connectionTokens: readonly string[]): X509Certificate | undefined => {
    const value = readHeader(request, connectionTokens)
    if (value === undefined) return undefined
    let certificate = cache.get(value)
    if (certificate === undefined) {
      if (value.length > maxHeaderLength) throw invalid(header, `more than ${maxHeaderLength} characters`)
      certificate = parse(value)
      cache.set(value, certificate)
    }
    return certificate
  }
}

function invalid(header: string, problem: string): CatalogError {
  return refusal('invalid_client_certificate', `the header "${header}" has ${problem}`)
}

/** Parses `Client-Cert` (RFC 9440, section 2.2): a byte sequence with the certificate in DER. */
function parseClientCert(value: string): X509Certificate {
  const certificate = parseDer(/^:([^:]+):$/.exec(value)?.[1])
  if (certificate !== undefined) return certificate
  throw invalid('client-cert', 'no certificate; expected DER in base64 between colons (RFC 9440)')
}

const pairGrammar = /([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^",;]*))(;|,|$)/y
const pemGrammar = /^-----BEGIN CERTIFICATE-----\r?\n([^-]+)-----END CERTIFICATE-----\s*$/

/**
 * Parses the `x-forwarded-client-cert` of Envoy: one element, with `Cert`, a PEM certificate that is encoded like a URL.
 * Envoy does not quote values from a certificate, so a name in it could pretend to be `Cert`: the `Hash`, which
 * Envoy always adds, must be that of the certificate.
 */
function parseForwardedClientCert(value: string): X509Certificate {
  const header = 'x-forwarded-client-cert'
  const single = new Map<string, string>()
  pairGrammar.lastIndex = 0
  for (let separator = ';'; separator !== '';) {
    const pair = pairGrammar.exec(value)
    if (pair === null) throw invalid(header, 'a malformed element; expected Cert="..."')
    const [, name = '', quoted, plain = '', next = ''] = pair
    if (next === ',')
      throw invalid(header, 'several elements; the proxy must replace it (Envoy: SANITIZE_SET)')
    const key = name.toLowerCase()
    if (key === 'cert' || key === 'hash') {
      if (single.has(key)) throw invalid(header, `several values of ${name}`)
      single.set(key, quoted ?? plain)
    }
    separator = next
  }
  const encoded = single.get('cert')
  if (encoded === undefined) {
    const setting = 'set_current_client_cert_details: cert: true'
    throw invalid(header, `no Cert; the proxy must add it (Envoy: ${setting})`)
  }
  const certificate = parseDer(pemGrammar.exec(unescape(encoded))?.[1]?.replaceAll(/\s/g, ''))
  if (certificate === undefined)
    throw invalid(header, 'no certificate in Cert; expected one PEM block, encoded like a URL')
  const hash = single.get('hash')?.toLowerCase()
  if (hash !== undefined && hash !== certificate.fingerprint256.replaceAll(':', '').toLowerCase())
    throw invalid(header, 'a Hash of another certificate than that in Cert')
  return certificate
}

/** Undefined if the text is not base64, or not that of exactly one certificate in DER. */
function parseDer(base64 = ''): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(Buffer.from(base64, 'base64'))
    // PEM would be parsed, too, and what follows a certificate ignored.
    return certificate.raw.toString('base64') === base64 ? certificate : undefined
  } catch {
    return undefined
  }
}
