import type { Callers } from './callers.ts'
import type { ServerProcess } from './server-process.ts'

/** What a server is started with. */
export interface PeerSetup {
  /** A folder for its files. */
  readonly folder: string
  readonly upstreamPort: number
  readonly callers: Callers
  /** The core to run on; undefined for any. */
  readonly core: number | undefined
  /** Where a CPU profile is written, by what can write one. */
  readonly profileFolder: string | undefined
}

/** A server between the load and the upstream. */
export interface Peer {
  readonly name: string
  /** What it is and does, for the results. */
  readonly what: string
  /** Whether it verifies keys and tokens, and who may do what. */
  readonly checks: boolean
  /** Takes part only where bodies are large. */
  readonly onlyBulk?: boolean
  /** Throws where it is not on this machine. */
  version(): string
  /** Rejects where it does not start. */
  start(setup: PeerSetup): Promise<ServerProcess>
}
