import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeBodies } from './bodies.ts'
import { makeCallers } from './callers.ts'
import { companions, runCompanion } from './companions.ts'
import { chooseCores } from './cores.ts'
import type { BenchOptions } from './options.ts'
import type { BodySize } from './upstream-contract.ts'
import { goalsTable, type Run } from './goals.ts'
import { programVersion } from './peers/program-version.ts'
import { peers } from './peers.ts'
import { tableOf, type Rounds } from './report.ts'
import { machineNow, resultsOf, type Section } from './results.ts'
import { leadSeconds, measureRounds, takingPart } from './rounds.ts'
import { stopServers } from './server-process.ts'
import { startServers, type Servers } from './servers.ts'
import { workloads, type Workload } from './workloads.ts'

export interface BenchSurroundings {
  /** Folder for the files of the run; the caller removes it after the servers have stopped. */
  readonly folder: string
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** Pause between measurements for the load to start and stop. */
const betweenSeconds = 0.4

const resultsFile = fileURLToPath(new URL('results.md', import.meta.url))
const formatter = fileURLToPath(new URL('../../node_modules/.bin/oxfmt', import.meta.url))

/**
 * Runs the selected measurements, prints a table for each part, and writes `results.md` if requested. Leaves servers
 * running. Rejects if nothing can be measured.
 */
export async function runBench(
  options: BenchOptions,
  { folder, say, signal }: BenchSurroundings,
): Promise<void> {
  if (process.platform !== 'linux') {
    throw new Error('what processes cost is read from /proc: the bench needs Linux')
  }
  const wrk = programVersion('wrk', '-v', /wrk (?:debian\/)?(\S+)/)
  const cores = chooseCores()
  const before = machineNow()
  const chosen = workloads.filter(({ name }) => options.workloads.includes(name))
  const parts = companions.filter(({ name }) => options.companions.includes(name))
  say('making keys, tokens and bodies')
  // The proof uses bodies of 1 MiB in any case.
  const sizes: readonly BodySize[] = chosen.some(({ name }) => name.includes('64m')) ? ['1m', '64m'] : ['1m']
  const permissionsTokens = chosen.some(({ credential }) => credential === 'tokens')
  const load = {
    callers: await makeCallers(folder, permissionsTokens ? options.tokens : 1),
    bodies: await makeBodies(folder, sizes),
    core: cores.load,
    signal,
  }
  const requested = peers.filter(({ name }) => options.peers.includes(name))
  const sections: Section[] = []
  const add = (what: string, text: string): void => {
    sections.push({ what, text })
    process.stdout.write(`\n${what}\n\n${text}\n\n`)
  }
  const start = async (number: number): Promise<Servers> => {
    const own = join(folder, `run-${number}`)
    await mkdir(own)
    return startServers(requested, { folder: own, cores, load, sizes, profileFolder: options.profile, say })
  }

  let servers = await start(1)
  const remaining = countdown(chosen, parts, servers, options)
  const runs: Run[] = []
  while (runs.length < options.runs) {
    if (runs.length > 0) {
      await stopServers()
      servers = await start(runs.length + 1)
      // The tables are those of the last run.
      sections.length = 0
    }
    const run = new Map<string, Rounds>()
    for (const workload of chosen) {
      say(`${workload.name} (${remaining()})`)
      const rounds = await measureRounds(workload, servers, { ...options, load, say })
      run.set(workload.name, rounds)
      add(workload.what, tableOf(workload, rounds))
    }
    runs.push(run)
  }
  for (const companion of parts) {
    say(`${companion.name} (${remaining()})`)
    add(companion.what, `\`\`\`\n${await runCompanion(companion, signal)}\n\`\`\``)
  }
  const goals = goalsTable(runs)
  process.stdout.write(`\nwhat is asked of the gateway\n\n${goals}\n`)
  if (!options.write) return
  const isPinned = cores.server !== undefined
  await writeFile(resultsFile, resultsOf(goals, sections, { options, servers, before, isPinned, wrk }))
  await promisify(execFile)(formatter, [resultsFile])
  say(`written: ${resultsFile}`)
}

/** Estimates the remaining time on an idle machine after each part. */
function countdown(
  chosen: readonly Workload[],
  parts: readonly { readonly seconds: number }[],
  { proven }: Servers,
  { runs, rounds, seconds }: BenchOptions,
): () => string {
  const eachSeconds = 5 + rounds * (leadSeconds + seconds) + (2 * rounds + 1) * betweenSeconds
  const ofOneRun = chosen.map((workload) => takingPart(workload, proven).length * eachSeconds)
  const left = [...Array.from({ length: runs }, () => ofOneRun).flat(), ...parts.map((part) => part.seconds)]
  return () => {
    const total = left.reduce((sum, each) => sum + each, 0)
    left.shift()
    return `about ${Math.ceil(total / 60)} min left`
  }
}
