import { readFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import type { BenchOptions } from './options.ts'
import type { Servers } from './servers.ts'

/** A section of the results in Markdown. */
export interface Section {
  readonly what: string
  readonly text: string
}

export interface ResultsContext {
  readonly options: BenchOptions
  readonly servers: Servers
  readonly before: MachineState
  readonly isPinned: boolean
  readonly wrk: string
}

/** Other load on the machine. */
export interface MachineState {
  /** Load average of the last minute. */
  readonly load: number
  /** Busy time of its cores since boot, and the time stolen by other guests of the host. */
  readonly worked: number
  readonly stolen: number
}

export function machineNow(): MachineState {
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = (
    readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
  )
    .split(/\s+/)
    .slice(1)
    .map(Number)
  const worked = user + nice + system + interrupts + softInterrupts
  return { load: loadavg()[0] ?? 0, worked, stolen }
}

/** Formats `results.md`, including the table of goals. */
export function resultsOf(goals: string, sections: readonly Section[], context: ResultsContext): string {
  const { options, servers, before, isPinned, wrk } = context
  const after = machineNow()
  const stolen =
    (after.stolen - before.stolen) / (after.worked - before.worked + after.stolen - before.stolen)
  const cores = cpus()
  const measured = servers.proven.map(({ name, version, what }) => `- **${name}** (${version}): ${what}`)
  const missing = [...servers.missing].map(([name, reason]) => `- **${name}** was left out: ${reason}`)
  return `# Benchmark results

Written by \`npm run bench -- --write\` on ${new Date().toISOString().slice(0, 10)}.

- Machine: ${cores[0]?.model.trim()}, ${cores.length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}.
  ${isPinned ? 'Each server has one core to itself; upstream and load share the other cores.' : 'Nothing is bound to a core.'}
- Node ${process.version.slice(1)}, wrk ${wrk}.
- Load average of the machine: ${before.load.toFixed(1)} before, ${after.load.toFixed(1)} at the end. If it was above the
  load of the benchmark itself (about 2), other processes used the same cores: compare ratios and CPU, not requests per second.
- ${Math.round(stolen * 100)} % of the busy time of the cores was steal time of other guests of the host. It counts as CPU of the process that was
  running, and slows down programs with much code most: compare runs only if it is small.
- Each server is warmed up with 60,000 requests of each kind, and for a second before each measurement.
- Medians of ${options.rounds} ${options.rounds === 1 ? 'round' : 'rounds'} of ${options.seconds} s; within a round the servers are measured one after the other. Ratios are within a round.
- CPU is the time of the server process, all its threads and children. A server below 90 % of a core waited for the
  load, for the upstream, or for a busy core.
- Before the measurements, each server is verified: it forwards bytes unchanged, with a length and in chunks, with fast and
  slow peers, and responds with 401 and 403 as required. All servers write a log line per request.

${[...measured, ...missing].join('\n')}

## Goals

Missed goals are in bold. Servers are restarted for each run; the tables below are those of the last run.

${goals}

${sections.map(({ what, text }) => `## ${what[0]?.toUpperCase()}${what.slice(1)}\n\n${text}\n`).join('\n')}`
}
