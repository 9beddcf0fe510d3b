import type { Socket } from 'node:net'

/** For reading the response after a failed write. */
const readTimeoutMs = 1_000

type Callback = (error?: Error | null) => void

/**
 * Reports a failed write only when the input has been read: an upstream may respond to an incomplete upload and close
 * the connection, and node would destroy the socket with the response unread. Node has no option for that.
 */
export function deferWriteErrors(socket: Socket): void {
  const write = socket._write.bind(socket)
  const writev = socket._writev?.bind(socket)
  const deferred =
    (callback: Callback): Callback =>
    (error) =>
      error ? callAfterClose(socket, () => callback(error)) : callback()
  socket._write = (chunk, encoding, callback) => write(chunk, encoding, deferred(callback))
  if (writev) socket._writev = (chunks, callback) => writev(chunks, deferred(callback))
}

function callAfterClose(socket: Socket, proceed: () => void): void {
  const finish = (): void => {
    clearTimeout(timer)
    socket.off('close', finish)
    proceed()
  }
  const timer = setTimeout(finish, readTimeoutMs)
  socket.once('close', finish)
}
