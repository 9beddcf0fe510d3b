import type { Socket } from 'node:net'
import { toCanonicalAddress } from './canonical-address.ts'

/** IP addresses of a connection in their one form (canonical-address.ts). */
export interface ConnectionAddresses {
  /** The other end of the TCP connection: a proxy, or the client itself. Empty if the connection is closed. */
  readonly peer: string
  /** The client: the one that a proxy has stated by PROXY protocol, otherwise the peer. */
  readonly client: string
}

/** In place of the address of a client that a proxy does not know, or conceals. No condition on addresses accepts it. */
export const unknownAddress = 'unknown'

/** To be called when a connection is accepted: a closed one has no addresses. */
export function readConnectionAddresses({ remoteAddress = '' }: Socket): ConnectionAddresses {
  const peer = toCanonicalAddress(remoteAddress) ?? remoteAddress
  return { peer, client: peer }
}
