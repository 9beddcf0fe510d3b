import type { Socket } from 'node:net'

/** What a connection has carried, in bytes. */
interface CarriedBytes {
  readonly bytesIn: number
  readonly bytesOut: number
}

const before = new WeakMap<Socket, CarriedBytes>()
const nothing: CarriedBytes = { bytesIn: 0, bytesOut: 0 }

/**
 * What a connection has carried since this was asked before: asked at the end of each request, what that request and
 * its answer took, heads included. Of requests that were sent ahead, some bytes count for the one before.
 */
export function carriedSince(socket: Socket): CarriedBytes {
  const last = before.get(socket) ?? nothing
  const now = { bytesIn: socket.bytesRead, bytesOut: socket.bytesWritten }
  before.set(socket, now)
  return { bytesIn: now.bytesIn - last.bytesIn, bytesOut: now.bytesOut - last.bytesOut }
}
