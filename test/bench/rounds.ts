import type { LoadSetup } from './load.ts'
import { measure, type Sample } from './measure.ts'
import type { Rounds } from './report.ts'
import type { ProvenServer, Servers } from './servers.ts'
import type { Workload } from './workloads.ts'

/** How a workload is measured. */
export interface RoundsSetup {
  readonly rounds: number
  readonly seconds: number
  /** Whether nothing is warmed up. */
  readonly cold: boolean
  readonly load: LoadSetup
  readonly say: (line: string) => void
}

/** It takes that many until what is compiled while it runs has been compiled for good. */
const warmRequests = 60_000
const mostWarmSeconds = 30
/** Before each measurement, uncounted: whoever was idle while others had their turn has lost what was in caches. */
export const leadSeconds = 1

/** The servers that take part in a workload. */
export function takingPart(
  { bulk, isRefused = false }: Workload,
  proven: readonly ProvenServer[],
): readonly ProvenServer[] {
  return proven.filter(({ checks, onlyBulk }) => (checks || !isRefused) && (!onlyBulk || bulk !== undefined))
}

/** Measures all servers in turn, so many times; before that each runs uncounted, for compilers and caches. */
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

/** A compiler counts calls, not seconds: on a busy machine it takes longer until all is compiled. */
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
