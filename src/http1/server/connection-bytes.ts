import type { Socket } from 'node:net'

interface ConnectionBytes {
  bytesIn: number
  bytesOut: number
}

const reported = new WeakMap<Socket, ConnectionBytes>()

/**
 * Returns the bytes read and written on a connection since the last call for it. Called at the end of each request, it
 * measures the request and its response, heads included; some bytes of pipelined requests count for the previous one.
 */
export function takeConnectionBytes(socket: Socket): Readonly<ConnectionBytes> {
  let before = reported.get(socket)
  if (before === undefined) reported.set(socket, (before = { bytesIn: 0, bytesOut: 0 }))
  const { bytesRead, bytesWritten } = socket
  const taken = { bytesIn: bytesRead - before.bytesIn, bytesOut: bytesWritten - before.bytesOut }
  before.bytesIn = bytesRead
  before.bytesOut = bytesWritten
  return taken
}
