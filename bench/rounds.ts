import { runLoad } from './load.ts'
import { measure, type MeasureSetup, type Sample } from './measure.ts'
import type { Credential } from './peer.ts'
import { FigureCollector, warmUp, type Figures } from './rows.ts'
import { residentMemory } from './process-cost.ts'
import type { Servers, VerifiedServer } from './servers.ts'
import type { Workload } from './workloads.ts'

export interface RoundsSetup extends MeasureSetup {
  readonly rounds: number
  /** Requests of each kind that a JIT compiler gets before the measurements. */
  readonly warmRequests: number
  readonly say: (line: string) => void
}

export interface Measurements {
  readonly figures: Figures
  /** Descriptions of measurements without a figure. */
  readonly failures: readonly string[]
}

const mostWarmSeconds = 20

/**
 * Warms up the servers with small requests, and then measures all of them in turn with each workload, for each round.
 * Failures are reported and left out.
 */
export async function measureRounds(
  chosen: readonly Workload[],
  servers: Servers,
  setup: RoundsSetup,
): Promise<Measurements> {
  const { rounds, say, load } = setup
  const collector = new FigureCollector()
  const failures: string[] = []
  const attempt = async (workload: string, server: string, run: () => Promise<Sample>): Promise<void> => {
    try {
      collector.add(workload, server, await run())
    } catch (error) {
      if (load.signal.aborted) throw error
      failures.push(`${workload}, ${server}: ${error instanceof Error ? error.message : String(error)}`)
      say(`failed: ${failures.at(-1)}`)
    }
  }
  for (const server of servers.verified) {
    say(`warming up ${server.name}`)
    await attempt(warmUp, server.name, () => warm(chosen, server, setup))
  }
  const startedAt = performance.now()
  const total = rounds * chosen.reduce((sum, workload) => sum + takingPart(workload, servers).length, 0)
  let done = 0
  for (let round = 1; round <= rounds; round += 1) {
    for (const workload of chosen) {
      const msEach = (performance.now() - startedAt) / done
      const left = done > 0 ? ` (about ${Math.ceil(((total - done) * msEach) / 60_000)} min left)` : ''
      say(`round ${round} of ${rounds}: ${workload.name}${left}`)
      for (const { name, server, credential } of takingPart(workload, servers)) {
        await attempt(workload.name, name, async () => {
          const sample = await measure({ workload, server, credential }, setup)
          const isDirect = name === servers.direct.name
          return isDirect ? { ...sample, processorTime: NaN, memory: NaN } : sample
        })
        done += 1
      }
    }
  }
  return { figures: collector.figures, failures }
}

/** The servers that a workload is for, each with the credential to use. */
function takingPart(
  workload: Workload,
  { direct, verified }: Servers,
): readonly (VerifiedServer & { readonly credential: Credential })[] {
  return [...(workload.hasDirect === true ? [direct] : []), ...verified].flatMap((each) => {
    const credential = usedCredential(workload, each.credentials)
    return credential === undefined ? [] : [{ ...each, credential }]
  })
}

function usedCredential({ credential }: Workload, verifiable: readonly Credential[]): Credential | undefined {
  return credential === undefined ? verifiable[0] : verifiable.find((each) => each === credential)
}

/** Sends small requests until JIT compilers have settled, which depends on calls, not on time. */
async function warm(
  chosen: readonly Workload[],
  { server, isJit, credentials }: VerifiedServer,
  { warmRequests, load }: RoundsSetup,
): Promise<Sample> {
  const enough = isJit ? warmRequests : 0
  for (const workload of chosen) {
    const credential = usedCredential(workload, credentials)
    if (workload.kind !== 'small' || workload.connections >= 1_000 || credential === undefined) continue
    for (let requests = 0, seconds = 0; requests <= enough && seconds < mostWarmSeconds; seconds += 1) {
      requests += (await runLoad(workload, { port: server.port, credential }, 1, load)).requests
    }
  }
  await server.emptyLog()
  return { processorTime: NaN, p99: NaN, memory: residentMemory(server.pid) / 1e6 }
}
