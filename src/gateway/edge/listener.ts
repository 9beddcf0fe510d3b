import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { LimitSettings, TimeoutSettings, TlsSettings } from './edge-settings.ts'

/** What a listener is made of. */
export interface ListenerOptions {
  readonly limits: LimitSettings
  readonly timeouts: TimeoutSettings
  /** Undefined for plain HTTP. */
  readonly tls: { readonly settings: TlsSettings; readonly context: SecureContextOptions } | undefined
  /** The certificate that a client offered is not good; the connection is closed. */
  readonly certificateRefused: (client: string | undefined, cause: string) => void
}

/** How often node looks for heads that take too long; it knows no timer for each. */
const mostOftenMs = 1_000

/**
 * The HTTP server of the gateway, with or without TLS, before it listens. Every request comes to the handler, also
 * those with an Expect header: nobody is told to continue before the handler says so.
 */
export function createListener(handler: RequestListener, options: ListenerOptions): Server {
  const { limits, timeouts, tls } = options
  const http: ServerOptions = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: timeouts.headersMs,
    connectionsCheckingInterval: Math.min(mostOftenMs, Math.ceil(timeouts.headersMs / 4)),
    // How long a body may take depends on its size: see client-body.ts.
    requestTimeout: 0,
    keepAliveTimeout: timeouts.keepAliveMs,
    keepAlive: true,
    requireHostHeader: false,
  }
  const server =
    tls === undefined
      ? createServer(http, handler)
      : // An https.Server has all of an http.Server, though its types do not say so.
        (createTlsServer(
          { ...http, ...tlsOptions(tls.settings, timeouts), ...tls.context },
          handler,
        ) as Server)
  server.timeout = timeouts.unreadMs
  // Node drops what is beyond the number, unseen by any check: one more shows that there were too many.
  server.maxHeadersCount = limits.headerCount + 1
  server.on('checkContinue', handler)
  server.on('checkExpectation', handler)
  if (tls?.settings.clientCertificate === 'optional') {
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.authorized || socket.getPeerX509Certificate() === undefined) return
      options.certificateRefused(socket.remoteAddress, String(socket.authorizationError))
      socket.destroy()
    })
  }
  return server
}

function tlsOptions({ clientCertificate }: TlsSettings, timeouts: TimeoutSettings) {
  return {
    handshakeTimeout: timeouts.headersMs,
    requestCert: clientCertificate !== 'none',
    // Where a certificate is optional, node would let a bad one pass: it is refused above.
    rejectUnauthorized: clientCertificate === 'required',
  }
}
