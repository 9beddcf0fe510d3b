import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { makeBodies } from './bodies.ts'
import { makeCallers } from './callers.ts'
import { companions, runCompanion } from './companions.ts'
import { bindThisProcess, chooseCores } from './cores.ts'
import type { BenchOptions } from './options.ts'
import { peers } from './peers.ts'
import { findProgram } from './peers/find-program.ts'
import { machineNow, writePage, writeSection } from './performance-page.ts'
import { mediansOf, mediansSchema, missedGoals, regressions, tableOf, type Medians } from './report.ts'
import { measureRounds } from './rounds.ts'
import { providePrograms, startServers } from './servers.ts'
import { Transfers } from './transfers.ts'
import { workloads } from './workloads.ts'

export interface BenchSurroundings {
  /** Folder for the files of the run; the caller removes it after the servers have stopped. */
  readonly folder: string
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

const mediansFile = fileURLToPath(new URL('medians.json', import.meta.url))

/**
 * Runs the selected measurements, and prints the table, missed goals and regressions; writes them if requested. Leaves
 * servers running. Rejects if nothing can be measured.
 */
export async function runBench(options: BenchOptions, surroundings: BenchSurroundings): Promise<void> {
  if (process.platform !== 'linux') {
    throw new Error('the costs of processes are read from /proc: the bench needs Linux')
  }
  if (options.workloads.length > 0) await measureServers(options, surroundings)
  for (const companion of companions.filter(({ name }) => options.companions.includes(name))) {
    surroundings.say(companion.name)
    const result = await runCompanion(companion, surroundings.signal)
    process.stdout.write(`\n${companion.what}\n\n${result}\n`)
    if (options.write && companion.section !== undefined) await writeSection(companion.section, result)
  }
}

async function measureServers(
  options: BenchOptions,
  { folder, say, signal }: BenchSurroundings,
): Promise<void> {
  const wrk = findProgram('wrk', '-v', /wrk (?:debian\/)?(\S+)/)
  const requested = peers.filter(({ name }) => options.servers.includes(name))
  const provided = await providePrograms(requested, say)
  const cores = chooseCores()
  bindThisProcess(cores.load)
  const before = machineNow()
  say('making keys, tokens and bodies')
  const callers = await makeCallers(folder, options.tokens)
  const bodies = await makeBodies(folder, ['64m', '100m', '256m'])
  const load = { callers, bodies, core: cores.load, signal }
  const profileFolder = options.profile
  const servers = await startServers(provided.programs, { folder, cores, load, profileFolder, say })
  const chosen = workloads.filter(({ name }) => options.workloads.includes(name))
  const transfers = new Transfers(bodies, callers)
  const { figures, failures } = await measureRounds(chosen, servers, { ...options, load, transfers, say })

  const medians = mediansOf(figures)
  const columns = [servers.direct, ...servers.verified].map(({ name }) => name)
  const table = tableOf(medians, columns)
  const missing = new Map([...provided.missing, ...servers.missing])
  print('medians', [table])
  print(
    'skipped',
    [...missing].map(([name, reason]) => `${name}: ${reason}`),
  )
  print('failed measurements', failures)
  print('missed goals', missedGoals(medians))
  print('regressions', regressionsSinceCommitted(medians))
  if (!options.write) return
  await writePage(table, medians, { options, servers, missing, before, cores, wrk: wrk.version })
  say('written: bench/results.md and bench/medians.json')
}

function regressionsSinceCommitted(medians: Medians): readonly string[] {
  if (!existsSync(mediansFile)) return ['unknown: there is no bench/medians.json']
  const committed = mediansSchema.parse(JSON.parse(readFileSync(mediansFile, 'utf8')))
  return regressions(medians, committed)
}

function print(what: string, lines: readonly string[]): void {
  process.stdout.write(`\n${what}:\n\n${lines.length === 0 ? 'none' : lines.join('\n')}\n`)
}
