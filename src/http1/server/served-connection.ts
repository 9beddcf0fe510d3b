import type { Socket } from 'node:net'
import type { ConnectionAddresses } from '../../lib/net/connection-addresses.ts'

/** A connection that the listener has accepted, in any protocol. */
export interface ServedConnection {
  /** Whether a request is active. */
  readonly isBusy: boolean
  /** Makes the current response the last one; in HTTP/2, accepts no further streams. */
  drain(): void
  /** Serves no further request: closes the connection now, or after the current response. */
  revoke(): void
  /** Closes the connection at once; an incomplete response does not look complete to the client. */
  destroy(): void
  /** Returns whether it closed the connection. */
  closeIfIdle(): boolean
  /** `now` is the time of performance.now(). */
  checkTimeouts(now: number): void
}

/** The listener that has accepted a connection. */
export interface ConnectionOwner {
  /** Whether every response is the last one of its connection. */
  readonly isDraining: boolean
  onClose(connection: ServedConnection): void
}

/** Serves connections that a listener has accepted, from their first byte that was not read. */
export interface ConnectionServer {
  serve(socket: Socket, addresses: ConnectionAddresses, owner: ConnectionOwner): ServedConnection
}
