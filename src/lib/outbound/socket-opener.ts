import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import type { Followed } from '../fs/follow-files.ts'
import type { TlsMaterial } from '../tls/tls-files.ts'
import { ConnectError } from './connect-error.ts'
import type { FindProxy, OutboundTarget, Proxy } from './find-proxy.ts'
import { openTunnel } from './open-tunnel.ts'

/** What the connections of all clients have in common. */
export interface ConnectionDefaults {
  readonly findProxy: FindProxy
  /** Returns the same context until the material or the trusted authorities change. */
  getSecureContext(material: TlsMaterial): SecureContext
  /** Reads the trusted authorities again, for a certificate that was rejected. Never rejects. */
  refreshAuthorities(): Promise<void>
}

/** Either an error or a connected socket; with TLS, its certificate is verified. */
export type OpenCallback = (...result: [error: Error, socket: null] | [error: null, socket: Socket]) => void

export interface PendingSocket {
  /** Closes the connection; the callback is not called any more. */
  cancel(): void
}

/** Opens connections of one client, directly or through the proxy of their host. */
export interface SocketOpener {
  /** Changes when the TLS material does: connections that were opened before have to be drained. */
  readonly material: TlsMaterial
  /** Calls back once, never before it returns. `onread` applies to direct connections without TLS; others emit `data`. */
  open(target: OutboundTarget, callback: OpenCallback, onread?: OnReadOpts): PendingSocket
}

const keepAliveProbeMs = 60_000

/** New connections use the current value of `material`, and it is read again when one fails. */
export function createSocketOpener(
  defaults: ConnectionDefaults,
  material: Followed<TlsMaterial>,
): SocketOpener {
  let session: { readonly key: string; readonly context: SecureContext; readonly value: Buffer } | undefined

  function startTls(target: OutboundTarget, tunnel: Socket | undefined): TLSSocket {
    const { host, port } = target
    const context = defaults.getSecureContext(material.current)
    const key = `${host}:${port}`
    // A session of other certificates would be resumed without their verification.
    const resumed = session?.key === key && session.context === context ? session.value : undefined
    const socket = connectTls({
      host,
      ...(tunnel === undefined ? { port } : { socket: tunnel }),
      ...toServerName(host),
      secureContext: context,
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(resumed && { session: resumed }),
    })
    socket.on('session', (value) => (session = { key, context, value }))
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
    open(target, callback, onread) {
      let current: Socket
      let isCancelled = false
      const finish: OpenCallback = (...result) => {
        if (!isCancelled) callback(...result)
      }
      const proxy = defaults.findProxy(target)
      if (proxy !== undefined) {
        current = connectToProxy(proxy, defaults)
        openTunnel(current, proxy, target, (error) => {
          if (error !== null) finish(error, null)
          else if (!target.isSecure) finish(null, current)
          else awaitConnect((current = startTls(target, current)), 'secureConnect', finish)
        })
      } else if (target.isSecure) {
        awaitConnect((current = configure(startTls(target, undefined))), 'secureConnect', finish)
      } else {
        const { host, port } = target
        current = configure(connectTcp({ host, port, ...(onread && { onread }) }))
        awaitConnect(current, 'connect', finish)
      }
      return {
        cancel() {
          isCancelled = true
          current.on('error', () => undefined).destroy()
        },
      }
    },
  }
}

/** Like `open`, with a timeout in milliseconds for all steps. */
export function openWithin(
  opener: SocketOpener,
  timeoutMs: number,
  target: OutboundTarget,
  callback: OpenCallback,
): void {
  const timer = setTimeout(() => {
    pending.cancel()
    const { host, port } = target
    callback(new ConnectError('CONNECT_TIMEOUT', `no connection to ${host}:${port} in ${timeoutMs} ms`), null)
  }, timeoutMs)
  const pending = opener.open(target, (...result) => {
    clearTimeout(timer)
    callback(...result)
  })
}

function connectToProxy({ url }: Proxy, defaults: ConnectionDefaults): Socket {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (url.protocol === 'http:') return configure(connectTcp({ host, port: Number(url.port) || 80 }))
  return configure(
    connectTls({
      host,
      port: Number(url.port) || 443,
      ...toServerName(host),
      secureContext: defaults.getSecureContext({}),
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    }),
  )
}

/** Server Name Indication has no IP addresses (RFC 6066, section 3). */
function toServerName(name: string): { readonly servername?: string } {
  return isIP(name) === 0 ? { servername: name } : {}
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
