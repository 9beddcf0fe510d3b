import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cores } from './cores.ts'
import type { BodySize } from './upstream-contract.ts'
import type { LoadSetup } from './load.ts'
import type { Peer } from './peer.ts'
import { startUpstream } from './peers/upstream.ts'
import { verifyServer } from './verify-server.ts'
import type { ServerProcess } from './server-process.ts'

export interface ProvenServer {
  readonly name: string
  readonly what: string
  readonly version: string
  readonly checks: boolean
  readonly onlyBulk: boolean
  readonly server: ServerProcess
}

export interface ServersSetup {
  readonly folder: string
  readonly cores: Cores
  readonly load: LoadSetup
  readonly sizes: readonly BodySize[]
  /** Folder for a CPU profile of the gateway. */
  readonly profileFolder: string | undefined
  readonly say: (line: string) => void
}

/** Verified servers, and the others with the reason. */
export interface Servers {
  readonly upstream: ServerProcess
  /** The first is the upstream itself: `direct`. */
  readonly proven: readonly ProvenServer[]
  readonly missing: ReadonlyMap<string, string>
}

/** Starts the upstream and the servers. Rejects if the upstream does not start. */
export async function startServers(
  peers: readonly Peer[],
  { folder, cores, load, sizes, profileFolder, say }: ServersSetup,
): Promise<Servers> {
  const upstream = await startUpstream(folder, cores.upstream, sizes)
  await verifyServer({ port: upstream.port, checks: false, sizes }, load)
  const direct = { name: 'direct', what: 'the upstream itself, a process on node', version: process.version }
  const proven: ProvenServer[] = [{ ...direct, checks: false, onlyBulk: false, server: upstream }]
  const missing = new Map<string, string>()
  for (const peer of peers) {
    const { name, what, checks, onlyBulk = false } = peer
    try {
      const version = peer.version()
      const own = join(folder, name)
      await mkdir(own)
      const { callers } = load
      const setup = { folder: own, upstreamPort: upstream.port, callers, core: cores.server, profileFolder }
      const server = await peer.start(setup)
      await verifyServer({ port: server.port, checks, sizes }, load)
      await server.emptyLog()
      proven.push({ name, what, version, checks, onlyBulk, server })
      say(`${name} ${version}: its bytes are exact${checks ? ', and it refuses who may not call' : ''}`)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      missing.set(name, reason)
      say(`${name} is left out: ${reason}`)
    }
  }
  return { upstream, proven, missing }
}
