import type { Socket } from 'node:net'

/** How long a response may take to be read after a write has failed. */
const readTimeoutMs = 1_000

type Callback = (error?: Error | null) => void

/**
 * Lets writes of the socket fail only when its input has been read. An upstream may respond to an incomplete upload and
 * close the connection: the next write fails, and node would destroy the socket with the response unread. Node has no
 * option for that, and a socket of node:tls cannot be of another class, so the methods of the socket are wrapped.
 */
export function deferWriteErrors(socket: Socket): void {
  const write = socket._write.bind(socket)
  const writev = socket._writev?.bind(socket)
  const deferred =
    (callback: Callback): Callback =>
    (error) =>
      error ? afterClose(socket, () => callback(error)) : callback()
  socket._write = (chunk, encoding, callback) => write(chunk, encoding, deferred(callback))
  if (writev) socket._writev = (chunks, callback) => writev(chunks, deferred(callback))
}

/** Reading ends with `close`, be it at the end of the input or with an error. */
function afterClose(socket: Socket, proceed: () => void): void {
  const finish = (): void => {
    clearTimeout(timer)
    socket.off('close', finish)
    proceed()
  }
  const timer = setTimeout(finish, readTimeoutMs)
  socket.once('close', finish)
}
