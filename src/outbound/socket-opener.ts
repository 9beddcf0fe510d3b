import { request } from 'node:http'
import { type Socket, connect as connectTcp, isIP, type OnReadOpts } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { type OutboundTarget, type Proxy, type FindProxy, toTarget } from './proxies.ts'
import { type Followed, formatAuthority, type TlsMaterial } from '../lib/index.ts'

/** Why no connection was established, for failures that have no code of Node. */
type ConnectErrorCode =
  | 'CONNECT_TIMEOUT'
  | 'PROXY_UNREACHABLE'
  | 'PROXY_REFUSED'
  | 'PROXY_AUTHENTICATION'
  | 'PROXY_RESPONSE_INVALID'

/** The message has no credentials and nothing that a proxy has sent, except its status. */
class ConnectError extends Error {
  override readonly name = 'ConnectError'
  readonly code: ConnectErrorCode

  constructor(code: ConnectErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

const maxHeadBytes = 16_384

/**
 * Requests a tunnel to a host on a connection to a proxy (CONNECT, RFC 9110 section 9.3.6), which may still be
 * connecting. Calls back once with the connection, which then leads to the host, or with ConnectError. Nothing that the
 * proxy sends besides the head of its response reaches the caller.
 */
function openTunnel(
  connection: Socket,
  { url, authorization }: Proxy,
  target: OutboundTarget,
  callback: (error: ConnectError | null) => void,
): void {
  const { host, port } = target
  const authority = formatAuthority(host, port)
  const fail = (code: ConstructorParameters<typeof ConnectError>[0], problem: string): void => {
    connection.destroy()
    callback(new ConnectError(code, `the proxy ${url.origin} ${problem}`))
  }
  const credential = authorization.current
  const connect = request({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(credential !== undefined && { 'proxy-authorization': credential }) },
    createConnection: () => connection,
    maxHeaderSize: maxHeadBytes,
    insecureHTTPParser: false,
  })
  connect.on('connect', ({ statusCode = 0 }, _socket, received: Buffer) => {
    if (statusCode === 407) {
      void authorization.refresh()
      fail('PROXY_AUTHENTICATION', describeAuthentication(credential))
    } else if (statusCode < 200 || statusCode > 299) {
      fail('PROXY_REFUSED', `refused a connection to ${authority} with status ${statusCode}`)
    } else if (received.length > 0) {
      // Neither TLS nor HTTP servers send first: it could be taken for the response to a request.
      fail('PROXY_RESPONSE_INVALID', 'sent more than the head of a response to CONNECT')
    } else {
      callback(null)
    }
  })
  connect.on('error', (error: NodeJS.ErrnoException) => {
    const { code = '', message } = error
    if (code.startsWith('HPE_'))
      fail('PROXY_RESPONSE_INVALID', `sent a malformed response to CONNECT: ${code}`)
    else fail('PROXY_UNREACHABLE', `cannot be reached: ${message === '' ? code : message}`)
  })
  connect.end()
}

function describeAuthentication(credential: string | undefined): string {
  return credential === undefined
    ? 'requires authentication (status 407), and no credential is configured'
    : 'rejected the credential (status 407)'
}

/** Options for the connections of all clients. */
export interface ConnectionDefaults {
  readonly findProxy: FindProxy
  /** Returns the same context until the material or the trusted authorities change. */
  getSecureContext(material: TlsMaterial): SecureContext
  /** Reads the trusted authorities again, for a certificate that was rejected. Never rejects. */
  refreshAuthorities(): Promise<void>
}

/** Either an error or a connected socket; with TLS, its certificate is verified. */
export type OpenCallback = (...result: [error: Error, socket: null] | [error: null, socket: Socket]) => void

/** Opens connections of one client, directly or through the proxy of their host. */
export interface SocketOpener {
  /** Changes when the TLS material does: connections that were opened before have to be drained. */
  readonly material: TlsMaterial
  /**
   * Calls back once, never before it returns, and after `timeoutMs` at the latest. `onread` applies to direct connections
   * without TLS; others emit `data`. Returns a function that closes the connection; the callback is not called any more then.
   */
  open(target: OutboundTarget, timeoutMs: number, callback: OpenCallback, onread?: OnReadOpts): () => void
}

const keepAliveProbeMs = 60_000

/** New connections use the current value of `material`, and it is read again when one fails. */
export function createSocketOpener(
  defaults: ConnectionDefaults,
  material: Followed<TlsMaterial>,
): SocketOpener {
  function startTls({ host, port }: OutboundTarget, tunnel?: Socket): TLSSocket {
    const to = tunnel === undefined ? { port } : { socket: tunnel }
    const socket = dialTls(host, to, defaults.getSecureContext(material.current))
    socket.once('error', () => {
      void material.refresh()
      void defaults.refreshAuthorities()
    })
    return socket
  }

  return {
    get material() {
      return material.current
    },
    open(target, timeoutMs, callback, onread) {
      const { host, port, isSecure } = target
      let current: Socket
      let isOver = false
      const finish: OpenCallback = (...result) => {
        clearTimeout(timer)
        if (isOver) return
        isOver = true
        callback(...result)
      }
      const close = (): void => {
        clearTimeout(timer)
        isOver = true
        current.on('error', () => undefined).destroy()
      }
      const timer = setTimeout(() => {
        close()
        const problem = `no connection to ${host}:${port} in ${timeoutMs} ms`
        callback(new ConnectError('CONNECT_TIMEOUT', problem), null)
      }, timeoutMs)
      const proxy = defaults.findProxy(target)
      if (proxy !== undefined) {
        current = connectToProxy(proxy, defaults)
        openTunnel(current, proxy, target, (error) => {
          if (error !== null) finish(error, null)
          else if (!isSecure) finish(null, current)
          else awaitConnect((current = startTls(target, current)), 'secureConnect', finish)
        })
      } else if (isSecure) {
        awaitConnect((current = configure(startTls(target))), 'secureConnect', finish)
      } else {
        current = configure(connectTcp({ host, port, ...(onread && { onread }) }))
        awaitConnect(current, 'connect', finish)
      }
      return close
    },
  }
}

function connectToProxy({ url }: Proxy, defaults: ConnectionDefaults): Socket {
  const { host, port, isSecure } = toTarget(url)
  return configure(
    isSecure ? dialTls(host, { port }, defaults.getSecureContext({})) : connectTcp({ host, port }),
  )
}

function dialTls(
  host: string,
  to: { readonly port: number } | { readonly socket: Socket },
  secureContext: SecureContext,
): TLSSocket {
  return connectTls({
    host,
    ...to,
    // Server Name Indication has no IP addresses (RFC 6066, section 3).
    ...(isIP(host) === 0 && { servername: host }),
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
  })
}

function configure<Connection extends Socket>(socket: Connection): Connection {
  socket.setNoDelay(true)
  socket.setKeepAlive(true, keepAliveProbeMs)
  return socket
}

function awaitConnect(socket: Socket, event: 'connect' | 'secureConnect', callback: OpenCallback): void {
  const succeed = (): void => {
    socket.off('error', fail)
    callback(null, socket)
  }
  const fail = (error: Error): void => {
    socket.off(event, succeed)
    callback(error, null)
  }
  socket.once(event, succeed).once('error', fail)
}

const authorityAdvice = '; set caFile or outbound.caFile if its authority is private'

/** Causes of failures by codes of Node and OpenSSL; the first match counts. */
const causes: readonly (readonly [pattern: RegExp, cause: string, advice?: string])[] = [
  [/^(ENOTFOUND|EAI_)/, 'name resolution'],
  [/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|EPERM)$/, 'route'],
  [/^(ETIMEDOUT|CONNECT_TIMEOUT)$/, 'timeout'],
  [/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/, 'certificate', authorityAdvice],
  [/^(CERT_|ERR_TLS_CERT_|INVALID_CA|PATH_LENGTH_|INVALID_PURPOSE|HOSTNAME_)/, 'certificate'],
  [/^(EPROTO|ERR_SSL_|ERR_TLS_)/, 'TLS'],
]

/** How OpenSSL reads a response without TLS; its message is about records. */
const plainText = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/

/** Describes for operators why a connection failed: the name, the route, the certificate or the proxy. */
export function describeConnectFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConnectError && error.code !== 'CONNECT_TIMEOUT') return `proxy: ${error.message}`
  const { code = '' }: NodeJS.ErrnoException = error
  if (plainText.test(code))
    return 'TLS: the port does not speak TLS; expected a URL without TLS, or the port that has it'
  const [, cause, advice = ''] = causes.find(([pattern]) => pattern.test(code)) ?? []
  const message = describe(error)
  return cause === undefined ? message : `${cause}: ${message}${advice}`
}

/** Node reports the failures of all addresses of a host as one error without a message. */
function describe(error: Error): string {
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message
  return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ')
}
