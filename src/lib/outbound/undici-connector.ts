import type { buildConnector } from 'undici'
import { openWithin, type SocketOpener } from './socket-opener.ts'

/** Creates the `connect` option of undici's clients. The timeout includes the proxy and TLS. */
export function createUndiciConnector(opener: SocketOpener, timeoutMs: number): buildConnector.connector {
  return ({ protocol, hostname, port }, callback) => {
    const isSecure = protocol === 'https:'
    const target = { isSecure, host: hostname, port: Number(port) || (isSecure ? 443 : 80) }
    openWithin(opener, timeoutMs, target, callback)
  }
}
