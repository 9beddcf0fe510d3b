import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cores } from './cores.ts'
import type { LoadSetup } from './load.ts'
import type { Credential, Peer, Program } from './peer.ts'
import { startUpstream } from './peers/upstream.ts'
import type { ServerProcess } from './server-process.ts'
import { verifyServer } from './verify-server.ts'

export interface VerifiedServer {
  readonly name: string
  readonly what: string
  readonly version: string
  readonly credentials: readonly Credential[]
  readonly isJit: boolean
  readonly server: ServerProcess
}

export interface ServersSetup {
  readonly folder: string
  readonly cores: Cores
  readonly load: LoadSetup
  /** Folder for CPU profiles of the gateway. */
  readonly profileFolder: string | undefined
  readonly say: (line: string) => void
}

/** Verified servers, and the others with the reason. */
export interface Servers {
  /** The upstream itself. */
  readonly direct: VerifiedServer
  readonly verified: readonly VerifiedServer[]
  readonly missing: ReadonlyMap<string, string>
}

/** Finds or fetches the programs of the peers; resolves to those that cannot be had with the reason. */
export async function providePrograms(
  peers: readonly Peer[],
  say: (line: string) => void,
): Promise<{ programs: ReadonlyMap<Peer, Program>; missing: ReadonlyMap<string, string> }> {
  const programs = new Map<Peer, Program>()
  const missing = new Map<string, string>()
  for (const peer of peers) {
    try {
      say(`${peer.name}: finding or fetching its program`)
      programs.set(peer, await peer.provide())
    } catch (error) {
      missing.set(peer.name, reasonOf(error))
      say(`${peer.name} is skipped: ${reasonOf(error)}`)
    }
  }
  return { programs, missing }
}

/** Starts the upstream and the servers. Rejects if the upstream does not start. */
export async function startServers(
  programs: ReadonlyMap<Peer, Program>,
  { folder, cores, load, profileFolder, say }: ServersSetup,
): Promise<Servers> {
  const upstream = await startUpstream(folder, cores.upstream, ['64m', '256m'])
  const credentials = ['key', 'token'] as const
  await verifyServer({ port: upstream.port, credentials, checks: false }, load)
  const direct: VerifiedServer = {
    name: 'direct',
    what: 'the upstream itself, a process on Node',
    version: process.version.slice(1),
    credentials,
    isJit: true,
    server: upstream,
  }
  const verified: VerifiedServer[] = []
  const missing = new Map<string, string>()
  for (const [peer, program] of programs) {
    const { name, what, isJit } = peer
    const start = async (attempt: string, profiles: string | undefined): Promise<ServerProcess> => {
      const own = join(folder, `${name}-${attempt}`)
      await mkdir(own)
      const { callers } = load
      const setup = { folder: own, program, upstreamPort: upstream.port, callers, core: cores.server }
      return peer.start({ ...setup, profileFolder: profiles })
    }
    try {
      const first = await start('verified', undefined)
      try {
        await verifyServer({ port: first.port, credentials: peer.credentials, checks: true }, load)
      } finally {
        await first.stop()
      }
      // Started again, so that the memory of small requests is not that of the large bodies of the verification.
      const server = await start('measured', profileFolder)
      verified.push({ name, what, isJit, version: program.version, credentials: peer.credentials, server })
      say(`${name} ${program.version}: verified`)
    } catch (error) {
      if (load.signal.aborted) throw error
      missing.set(name, reasonOf(error))
      say(`${name} is skipped: ${reasonOf(error)}`)
    }
  }
  return { direct, verified, missing }
}

/** The first line, and the last of what a program has printed. */
function reasonOf(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).trim().split('\n')
  return [...new Set([lines[0], lines.at(-1)])].join(' ... ')
}
