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
  /** Before the first measurement. */
  readonly before: MachineState
  readonly isPinned: boolean
  /** Version of wrk. */
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
  return `# What the gateway costs

Written by \`npm run bench -- --write\` on ${new Date().toISOString().slice(0, 10)}; every run writes it anew.

- Machine: ${cores[0]?.model.trim()}, ${cores.length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}.
  ${isPinned ? 'Each server has one core to itself; upstream and load share what is left.' : 'Nothing is bound to a core.'}
- Node ${process.version.slice(1)}, wrk ${wrk}.
- Load average of the machine: ${before.load.toFixed(1)} before, ${after.load.toFixed(1)} at the end. Where it was above
  what the bench itself makes (about 2), others used the same cores: read ratios and CPU, not requests per second.
- Of the time that the cores were at work, ${Math.round(stolen * 100)} % went to others on the same host (steal). It counts as CPU of
  whoever was at work, and slows down most what has most code: compare runs only where it is small.
- Each server is warmed up with 60,000 requests of a kind before they are measured, and for a second before each time.
- Medians of ${options.rounds} ${options.rounds === 1 ? 'round' : 'rounds'} of ${options.seconds} s; in each round the servers are measured in turn. Ratios are taken within a round.
- CPU is the time of the server process, all its threads and children. A server below 90 % of a core was waiting:
  for the load, for the upstream, or for a turn on a busy core.
- Before anything is measured, each server proves that it carries bytes exactly, sized and chunked, from and to the
  fast and the slow, and that it answers 401 and 403 where it should. All write a log line for each request.

${[...measured, ...missing].join('\n')}

## What is asked of it

In bold is what was missed. Servers are started anew for each run; the tables below are those of the last one.

${goals}

${sections.map(({ what, text }) => `## ${what[0]?.toUpperCase()}${what.slice(1)}\n\n${text}\n`).join('\n')}`
}
