import type { Socket } from 'node:net'
import { ownedBy } from '../lib/async/owned-tasks.ts'
import { parseProxyHeader, type ProxyHeader } from './proxy-header.ts'
import { RequestError } from '../http1/server/request-error.ts'

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
