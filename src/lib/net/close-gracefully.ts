import type { Duplex } from 'node:stream'

/** How long the peer has to read the last bytes and to close its side. */
const lingerMs = 1_000

/**
 * Writes the last bytes, ends the connection, and destroys it if the peer has not closed it within a second. Destroying
 * a connection at once while it has unread input resets it, and the peer may lose what it has not read yet.
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
