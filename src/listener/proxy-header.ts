import { isIPv4, isIPv6, type Socket, SocketAddress } from 'node:net'
import { malformed, RequestError } from '../http1/index.ts'
import { ownedBy, toCanonicalAddress, unknownAddress } from '../lib/index.ts'

/** A header of PROXY protocol, version 1 or 2. */
export interface ProxyHeader {
  /** In bytes. */
  readonly length: number
  /**
   * Address of the client; `unknownAddress` if the header has none, as for a UNIX socket. Undefined: the proxy itself has
   * opened the connection, such as for a health check.
   */
  readonly client: string | undefined
}

const textSignature = Buffer.from('PROXY ')
/** With CRLF. */
const maxTextLength = 107
const binarySignature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const binaryHeadLength = 16
/** Of addresses and TLVs. The specification lets receivers choose; certificates in TLVs may need some thousands. */
const maxBinaryLength = 4096

const commands = { local: 0x20, proxy: 0x21 } as const

/** By address family and protocol: bytes of the addresses and ports, and those of one address. */
const binaryFamilies: ReadonlyMap<number, { readonly length: number; readonly address: 0 | 4 | 16 }> =
  new Map([
    [0x00, { length: 0, address: 0 }],
    [0x11, { length: 12, address: 4 }],
    [0x21, { length: 36, address: 16 }],
    [0x31, { length: 216, address: 0 }],
  ])

/**
 * Parses the header at the start of a connection (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt). Returns
 * undefined if more bytes are needed. Throws RequestError if the bytes cannot become a valid header of TCP or of a UNIX
 * stream. TLVs must have valid lengths and are not used.
 */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | undefined {
  if (startsLike(bytes, textSignature)) return parseText(bytes)
  if (startsLike(bytes, binarySignature)) return parseBinary(bytes)
  throw malformed('expected a header of PROXY protocol')
}

/** Whether the bytes begin with the signature, or are the beginning of it. */
function startsLike(bytes: Buffer, signature: Buffer): boolean {
  const length = Math.min(bytes.length, signature.length)
  return bytes.subarray(0, length).equals(signature.subarray(0, length))
}

function parseText(bytes: Buffer): ProxyHeader | undefined {
  const end = bytes.subarray(0, maxTextLength).indexOf('\r\n', 0, 'latin1')
  if (end === -1) {
    if (bytes.length >= maxTextLength) throw malformed('a header of PROXY protocol of more than 107 bytes')
    return undefined
  }
  const length = end + 2
  const [family, ...fields] = bytes.toString('latin1', textSignature.length, end).split(' ')
  if (family === 'UNKNOWN') return { length, client: unknownAddress }
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isIPv6 : undefined
  const [source = '', destination = '', sourcePort = '', destinationPort = '', ...rest] = fields
  const client = toCanonicalAddress(source)
  const isValid =
    isAddress?.(source) === true &&
    isAddress(destination) &&
    isPort(sourcePort) &&
    isPort(destinationPort) &&
    rest.length === 0
  if (!isValid || client === undefined) throw malformed('a malformed header of PROXY protocol, version 1')
  return { length, client }
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535
}

function parseBinary(bytes: Buffer): ProxyHeader | undefined {
  if (bytes.length < binaryHeadLength) return undefined
  const command = bytes.readUInt8(12)
  if (command !== commands.local && command !== commands.proxy)
    throw malformed('an unknown version or command of PROXY protocol')
  const following = bytes.readUInt16BE(14)
  if (following > maxBinaryLength)
    throw malformed(
      `a header of PROXY protocol with more than ${maxBinaryLength} bytes of addresses and TLVs`,
    )
  const length = binaryHeadLength + following
  if (bytes.length < length) return undefined
  // Its family and addresses are to be ignored.
  if (command === commands.local) return { length, client: undefined }
  const family = binaryFamilies.get(bytes.readUInt8(13))
  if (family === undefined) throw malformed('an address family of PROXY protocol that is not one of streams')
  if (following < family.length) throw malformed('a header of PROXY protocol without its addresses')
  assertTlvs(bytes.subarray(binaryHeadLength + family.length, length))
  const address = bytes.subarray(binaryHeadLength, binaryHeadLength + family.address)
  return { length, client: address.length === 0 ? unknownAddress : formatAddress(address) }
}

function assertTlvs(bytes: Buffer): void {
  let at = 0
  while (at < bytes.length) {
    if (at + 3 > bytes.length) break
    at += 3 + bytes.readUInt16BE(at + 1)
  }
  if (at !== bytes.length) throw malformed('a TLV of PROXY protocol that exceeds its header')
}

function formatAddress(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16))
  const { address } = new SocketAddress({ address: groups.join(':'), family: 'ipv6' })
  return toCanonicalAddress(address) ?? unknownAddress
}

/** Calls one of the two once, unless the connection is closed before. */
export interface ProxyHeaderHandler {
  /** The socket is paused; the bytes behind the header are to be read. */
  onHeader(header: ProxyHeader): void
  /** A RequestError if the bytes are not a header, or did not arrive in time. */
  onError(error: Error): void
}

/** Reads the header of PROXY protocol that must begin a connection. A connection that ends without a byte is closed. */
export function readProxyHeader(socket: Socket, timeoutMs: number, handler: ProxyHeaderHandler): void {
  let received = Buffer.alloc(0)
  const onData = ownedBy({ fail }, parse)
  const onEnd = ownedBy({ fail }, end)
  const timer = setTimeout(ownedBy({ fail }, expire), timeoutMs).unref()
  socket
    .on('data', onData)
    .on('end', onEnd)
    // `close` follows.
    .on('error', () => undefined)
    .on('close', stop)

  function parse(bytes: Buffer): void {
    received = Buffer.concat([received, bytes])
    const header = parseProxyHeader(received)
    if (header === undefined) return
    stop()
    socket.pause()
    if (header.length < received.length) socket.unshift(received.subarray(header.length))
    handler.onHeader(header)
  }

  function end(): void {
    if (received.length === 0) socket.destroy()
    else
      fail(new RequestError('incomplete_request', 'the connection ended within the header of PROXY protocol'))
  }

  function expire(): void {
    const reason = received.length === 0 ? 'idle_timeout' : 'request_timeout'
    fail(new RequestError(reason, 'the header of PROXY protocol was not received in time'))
  }

  function fail(error: Error): void {
    stop()
    handler.onError(error)
  }

  function stop(): void {
    clearTimeout(timer)
    socket.off('data', onData).off('end', onEnd).off('close', stop)
  }
}
