import type { Socket } from 'node:net'

/** What a connection has carried, in bytes. */
interface CarriedBytes {
  bytesIn: number
  bytesOut: number
}

const counted = new WeakMap<Socket, CarriedBytes>()

/**
 * What a connection has carried since this was asked before: asked at the end of each request, what that request and
 * its answer took, heads included. Of requests that were sent ahead, some bytes count for the one before.
 */
export function carriedSince(socket: Socket): Readonly<CarriedBytes> {
  let before = counted.get(socket)
  if (before === undefined) counted.set(socket, (before = { bytesIn: 0, bytesOut: 0 }))
  const { bytesRead, bytesWritten } = socket
  const carried = { bytesIn: bytesRead - before.bytesIn, bytesOut: bytesWritten - before.bytesOut }
  before.bytesIn = bytesRead
  before.bytesOut = bytesWritten
  return carried
}
