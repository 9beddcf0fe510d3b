import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { onTestFinished } from 'vitest'

/** A TLS server in front of a port, that demands client certificates. It is closed at the end of the test. */
export interface TlsFront {
  readonly port: number
  /** Uses these certificates for new connections. */
  use(tls: TlsOptions): void
  /** Breaks all connections. */
  cut(): void
}

export async function openTlsFront(port: number, tls: TlsOptions): Promise<TlsFront> {
  const open = new Set<TLSSocket>()
  const server = createServer({ ...tls, requestCert: true, rejectUnauthorized: true }, (socket) => {
    open.add(socket)
    const behind = connect(port, '127.0.0.1')
    socket.pipe(behind).pipe(socket)
    socket.on('error', () => behind.destroy()).on('close', () => behind.destroy())
    behind.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
  })
  // A refused client certificate; the refused side has the error, too.
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => open.forEach((socket) => socket.destroy())
  onTestFinished(() => {
    cut()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, use: (tls) => server.setSecureContext(tls), cut }
}
