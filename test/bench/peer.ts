import type { Callers } from './callers.ts'
import type { ServerProcess } from './server-process.ts'

export interface PeerSetup {
  readonly folder: string
  readonly upstreamPort: number
  readonly callers: Callers
  /** Core to run on; undefined for any. */
  readonly core: number | undefined
  /** Folder for a CPU profile, if the server supports it. */
  readonly profileFolder: string | undefined
}

export interface Peer {
  readonly name: string
  /** Description for the results. */
  readonly what: string
  /** Whether it authenticates and authorizes requests. */
  readonly checks: boolean
  /** Only measured with large bodies. */
  readonly onlyBulk?: boolean
  /** Throws if it is not installed. */
  version(): string
  /** Rejects if it does not start. */
  start(setup: PeerSetup): Promise<ServerProcess>
}
