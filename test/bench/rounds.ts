import type { LoadSetup } from './load.ts'
import { measure, type Sample } from './measure.ts'
import type { Rounds } from './report.ts'
import type { ProvenServer, Servers } from './servers.ts'
import type { Workload } from './workloads.ts'

export interface RoundsSetup {
  readonly rounds: number
  readonly seconds: number
  /** Skips the warm-up. */
  readonly cold: boolean
  readonly load: LoadSetup
  readonly say: (line: string) => void
}

/** Requests until the JIT compiler has settled. */
const warmRequests = 60_000
const mostWarmSeconds = 30
/** Unmeasured time before each measurement: an idle server has lost its CPU cache contents. */
export const leadSeconds = 1

export function takingPart(
  { bulk, isRefused = false }: Workload,
  proven: readonly ProvenServer[],
): readonly ProvenServer[] {
  return proven.filter(({ checks, onlyBulk }) => (checks || !isRefused) && (!onlyBulk || bulk !== undefined))
}

/** Measures all servers in turn for each round, after a warm-up for compilers and caches. */
export async function measureRounds(
  workload: Workload,
  { upstream, proven }: Servers,
  { rounds, seconds, cold, load, say }: RoundsSetup,
): Promise<Rounds> {
  const candidates = takingPart(workload, proven)
  const attempt = async ({ name, server }: ProvenServer, seconds: number): Promise<Sample | undefined> => {
    try {
      return await measure({ workload, server, upstream }, seconds, load)
    } catch (error) {
      if (load.signal.aborted) throw error
      say(`${workload.name}, ${name}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  for (const candidate of cold ? [] : candidates)
    await warmUp(workload, (seconds) => attempt(candidate, seconds))
  const samples = new Map<string, (Sample | undefined)[]>(candidates.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const candidate of candidates) {
      if (!cold) await attempt(candidate, leadSeconds)
      samples.get(candidate.name)?.push(await attempt(candidate, seconds))
    }
  }
  return samples
}

/** JIT compilation depends on calls, not on time: it takes longer on a busy machine. */
async function warmUp(
  { bulk }: Workload,
  run: (seconds: number) => Promise<Sample | undefined>,
): Promise<void> {
  const enough = bulk === undefined ? warmRequests : 0
  let done = 0
  for (let second = 0; second < mostWarmSeconds && done <= enough; second += 1) {
    const sample = await run(1)
    if (sample === undefined) return
    done += sample.perSecond
  }
}
