import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net'
import { TLSSocket } from 'node:tls'

/**
 * Makes an accepted socket read into the buffers of `onread`. Returns the socket to be used in place of the accepted one,
 * which is closed with it, so that its server counts it. Returns the accepted socket itself, which emits `data`, if it
 * has TLS, if it is being read already, or if node does not have the property `_handle`, which is not documented:
 * `net.createServer` has no option for it.
 */
export function acceptSocket(accepted: Socket, onread: OnReadOpts): Socket {
  const isFresh = !(accepted instanceof TLSSocket) && accepted.readableFlowing === null
  if (!isFresh || !('_handle' in accepted) || !accepted._handle) return accepted
  const { _handle: handle, allowHalfOpen } = accepted
  const options: SocketConstructorOpts & { readonly handle: unknown } = { handle, allowHalfOpen, onread }
  accepted._handle = null
  return new Socket(options).once('close', () => accepted.destroy())
}
