import type { Duplex } from 'node:stream'

/** Time for the peer to read the last bytes and to close its side. */
const lingerMs = 1_000

/**
 * Writes the last bytes, ends the connection, and destroys it if the peer has not closed it within a second. Destroying
 * a connection that has unread input resets it, and the peer may lose bytes it has not read.
 */
export function closeGracefully(socket: Duplex, lastBytes = ''): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(lastBytes)
}
