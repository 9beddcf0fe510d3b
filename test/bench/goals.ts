import type { Sample } from './measure.ts'
import { markdownTable, medianOf, ratioOf, type Rounds } from './report.ts'

export type Run = ReadonlyMap<string, Rounds>

interface Goal {
  readonly workload: string
  readonly what: string
  readonly goal: string
  /** Extracts the figure from a run; NaN if it was not measured. */
  readonly find: (rounds: Rounds) => number
  readonly isMet: (found: number) => boolean
}

const goals: readonly Goal[] = [
  perProcessorTime('small-read', 'small reads with a key', 0.6),
  perProcessorTime('small-json', 'JSON calls with one token', 1.3),
  perProcessorTime('many-tokens', 'JSON calls with many tokens', 1.2),
  perProcessorTime('refusals', 'refusals', 0.5),
  perSecond('many-connections', 'small reads a second over 1,000 connections', 'haproxy', 1),
  {
    workload: 'many-connections',
    what: 'their p99, of that of HAProxy',
    goal: 'at most 2',
    find: (rounds) => ratio(rounds, 'p99', 'haproxy'),
    isMet: (found) => found <= 2,
  },
  {
    workload: 'one-connection',
    what: 'ms that the median of one connection has over direct',
    goal: 'below 0.1',
    find: addedMilliseconds,
    isMet: (found) => found < 0.1,
  },
  perSecond('upload-64m', 'uploads of 64 MiB', 'nginx-lua', 0.5),
  perSecond('upload-64m-chunked', 'uploads of 64 MiB in chunks', 'nginx-lua', 0.5),
  perSecond('upload-64m', 'uploads of 64 MiB', 'haproxy', 1),
  perSecond('upload-64m-chunked', 'uploads of 64 MiB in chunks', 'haproxy', 1),
  perSecond('download-64m', 'downloads of 64 MiB', 'nginx-lua', 0.95),
  perSecond('download-64m-chunked', 'downloads of 64 MiB in chunks', 'nginx-lua', 0.95),
]

/** Formats goals and figures of each run as a Markdown table. */
export function goalsTable(runs: readonly Run[]): string {
  const measured = goals.filter(({ workload }) => runs.some((run) => run.has(workload)))
  const heading = ['of the gateway', 'asked', ...runs.map((_, number) => `run ${number + 1}`)]
  const rows = measured.map(({ workload, what, goal, find, isMet }) => [
    what,
    goal,
    ...runs.map((run) => {
      const found = find(run.get(workload) ?? new Map())
      if (Number.isNaN(found)) return '-'
      return isMet(found) ? found.toFixed(2) : `**${found.toFixed(2)}**`
    }),
  ])
  return markdownTable(heading, rows)
}

function perProcessorTime(workload: string, what: string, least: number): Goal {
  return {
    workload,
    what: `${what} for the same CPU, of HAProxy`,
    find: (rounds) => 1 / ratio(rounds, 'processorTime', 'haproxy'),
    ...atLeast(least),
  }
}

function perSecond(workload: string, what: string, yardstick: 'haproxy' | 'nginx-lua', least: number): Goal {
  return {
    workload,
    what: `${what}, of ${yardstick === 'haproxy' ? 'HAProxy' : 'nginx with Lua'}`,
    find: (rounds) => ratio(rounds, 'perSecond', yardstick),
    ...atLeast(least),
  }
}

function atLeast(least: number): Pick<Goal, 'goal' | 'isMet'> {
  return { goal: `at least ${least}`, isMet: (found) => found >= least }
}

function ratio(rounds: Rounds, member: keyof Sample, yardstick: string): number {
  return ratioOf(rounds.get('gateway') ?? [], rounds.get(yardstick), member)
}

function addedMilliseconds(rounds: Rounds): number {
  const [own, direct] = ['gateway', 'direct'].map((name) =>
    medianOf((rounds.get(name) ?? []).flatMap((sample) => sample?.p50 ?? [])),
  )
  return ((own ?? NaN) - (direct ?? NaN)) / 1000
}
