import { connect as connectPlain, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'
import { deferWriteErrors } from './defer-write-errors.ts'

export interface ConnectorOptions {
  /** `http` or `https`; the path is ignored. */
  readonly url: URL
  readonly tls: {
    /** PEM. */
    readonly ca?: string | undefined
    readonly cert?: string | undefined
    readonly key?: string | undefined
    /** Default: the host of the URL. */
    readonly servername?: string | undefined
  }
}

export interface Connector {
  readonly isSecure: boolean
  /** `onread` applies to plain connections; a TLS connection emits `data`. */
  open(onread: OnReadOpts): Socket
}

const keepAliveProbeMs = 60_000

/** The certificate of an upstream is always verified. */
export function createConnector({ url, tls }: ConnectorOptions): Connector {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isSecure = url.protocol === 'https:'
  const port = Number(url.port) || (isSecure ? 443 : 80)
  if (!isSecure) {
    return { isSecure, open: (onread) => configureSocket(connectPlain({ host, port, onread })) }
  }
  const { ca, cert, key } = tls
  const secureContext = createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) })
  const servername = tls.servername ?? (isIP(host) === 0 ? host : undefined)
  let session: Buffer | undefined
  return {
    isSecure,
    open() {
      const socket = connectTls({
        host,
        port,
        secureContext,
        rejectUnauthorized: true,
        ALPNProtocols: ['http/1.1'],
        ...(servername !== undefined && { servername }),
        ...(session && { session }),
      })
      socket.on('session', (latest) => (session = latest))
      return configureSocket(socket)
    },
  }
}

function configureSocket(socket: Socket): Socket {
  socket.setNoDelay(true)
  socket.setKeepAlive(true, keepAliveProbeMs)
  deferWriteErrors(socket)
  return socket
}
