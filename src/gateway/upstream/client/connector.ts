import { connect as connectPlain, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'

/** Where an upstream is, and how it is known to be the one. */
export interface ConnectorOptions {
  /** `http` or `https`; its path is nothing to a connection. */
  readonly url: URL
  /** PEM texts, and the name to verify where it is not the host of the URL. */
  readonly tls: {
    readonly ca?: string | undefined
    readonly cert?: string | undefined
    readonly key?: string | undefined
    readonly servername?: string | undefined
  }
}

/** Opens connections. */
export interface Connector {
  readonly isSecure: boolean
  /** A connection that reads as told where it is plain; where it is secure, it reads as streams do. */
  open(reading: OnReadOpts): Socket
}

/** How long an answer may take to be read after a write has failed. */
const readingMs = 1_000
const probeIdleMs = 60_000

/**
 * Opens connections to an upstream; the certificate of the upstream is always verified. An upstream that has heard
 * enough of an upload answers, and may close the connection at once: a write that then fails would end the
 * connection before the answer, which has arrived, has been read. So on these connections it fails after that.
 */
export function connectorOf({ url, tls }: ConnectorOptions): Connector {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isSecure = url.protocol === 'https:'
  const port = Number(url.port) || (isSecure ? 443 : 80)
  if (!isSecure) {
    return { isSecure, open: (onread) => prepared(connectPlain({ host, port, onread })) }
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
      return prepared(socket)
    },
  }
}

function prepared(socket: Socket): Socket {
  socket.setNoDelay(true)
  socket.setKeepAlive(true, probeIdleMs)
  return failingAfterReading(socket)
}

type Done = (error?: Error | null) => void

function failingAfterReading(socket: Socket): Socket {
  const write = socket._write.bind(socket)
  const writev = socket._writev?.bind(socket)
  const late =
    (done: Done): Done =>
    (error) =>
      error ? whenRead(socket, () => done(error)) : done()
  socket._write = (chunk, encoding, done) => write(chunk, encoding, late(done))
  if (writev) socket._writev = (chunks, done) => writev(chunks, late(done))
  return socket
}

/** What was read last is the end, or an error: both close the connection. */
function whenRead(socket: Socket, proceed: () => void): void {
  const finish = (): void => {
    clearTimeout(timer)
    socket.off('close', finish)
    proceed()
  }
  const timer = setTimeout(finish, readingMs)
  socket.once('close', finish)
}
