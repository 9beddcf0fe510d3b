import type { Socket } from 'node:net'

/**
 * Holds back what is written to a connection from here on until what runs now has ended: so the chunks that were read
 * at once go out in one write, however many they are.
 */
export function gatherWrites(socket: Socket): void {
  socket.cork()
  process.nextTick(uncork, socket)
}

function uncork(socket: Socket): void {
  socket.uncork()
}
