import type { Callers } from './callers.ts'
import type { ServerProcess } from './server-process.ts'

export type Credential = 'key' | 'token'

/** Files of a certificate and its key, in PEM. */
export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** A program that was found or fetched. */
export interface Program {
  readonly file: string
  readonly version: string
}

export interface PeerSetup {
  readonly folder: string
  readonly program: Program
  readonly upstreamPort: number
  readonly callers: Callers
  /** Core to run on; undefined for any. */
  readonly core: number | undefined
  /** Folder for a CPU profile, if the server supports it. */
  readonly profileFolder: string | undefined
  /** With a certificate, it serves TLS. */
  readonly certificate?: CertificateFiles
}

export interface Peer {
  /** Column of the table. */
  readonly name: string
  /** Description for the results. */
  readonly what: string
  /** The credentials that it can verify by itself. */
  readonly credentials: readonly Credential[]
  /** Whether it has a JIT compiler, which needs a long warm-up. */
  readonly isJit: boolean
  /** Finds or fetches its program. Rejects if that is not possible on this machine. */
  provide(): Promise<Program>
  /** Rejects if it does not start. */
  start(setup: PeerSetup): Promise<ServerProcess>
}
