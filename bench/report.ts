import { z } from 'zod'
import { rows, type Figures, type Row } from './rows.ts'

/** The server whose figures in the same run make those of different machines comparable. */
const yardstick = 'envoy'
/** Latencies beside bulk vary by almost a factor of two between runs of the same code. */
const regressionFactors = { processorTime: 1.15, memory: 1.15, p99: 2 } as const
/** Of the goals, which are for Node 24 and newer. */
const acceptedFactors: ReadonlyMap<string, number> = new Map([
  ['gateway-20', 1.2],
  ['gateway-22', 1.2],
  ['gateway-24', 1],
  ['gateway-26', 1],
])

/** Medians by row and server. */
export const mediansSchema = z.record(z.string(), z.record(z.string(), z.number()))
export type Medians = z.output<typeof mediansSchema>

export function mediansOf(figures: Figures): Medians {
  return Object.fromEntries(
    [...figures].map(([row, ofRow]) => [
      row,
      Object.fromEntries([...ofRow].map(([server, values]) => [server, roundedMedian(values)])),
    ]),
  )
}

/** Formats the table with a column per server; missed goals are bold. */
export function tableOf(medians: Medians, servers: readonly string[]): string {
  const measured = rows.filter(({ name }) => medians[name] !== undefined)
  const cells = measured.map((row) => [
    row.what,
    row.goal === undefined ? '' : row.goal === 'envoy' ? "envoy's" : String(row.goal),
    ...servers.map((server) => {
      const median = medians[row.name]?.[server]
      if (median === undefined) return ''
      return isMissed(row, medians, server) ? `**${median}**` : String(median)
    }),
  ])
  return markdownTable(['', 'goal', ...servers], cells)
}

/** Describes each missed goal. */
export function missedGoals(medians: Medians): readonly string[] {
  return rows.flatMap((row) =>
    [...acceptedFactors.keys()]
      .filter((server) => isMissed(row, medians, server))
      .map(
        (server) =>
          `${server}: ${row.what}: ${medians[row.name]?.[server]}; goal ${limitOf(row, medians, server)?.toFixed(1)}`,
      ),
  )
}

/**
 * Describes each figure of the gateway that is at least 15 % worse than in `committed`, or a latency that has doubled,
 * relative to Envoy in the same run.
 */
export function regressions(medians: Medians, committed: Medians): readonly string[] {
  return rows.flatMap(({ name, what, figure }) => {
    const [now, then] = [medians[name] ?? {}, committed[name] ?? {}]
    return Object.keys(now).flatMap((server) => {
      if (server === yardstick || !(server.startsWith('gateway') || server === 'plugin')) return []
      const ratio = relative(now, server) / relative(then, server)
      if (!(ratio >= regressionFactors[figure])) return []
      const ratios = [then, now].map((each) => relative(each, server).toFixed(2)).join(' to ')
      return [
        `${server}: ${what}: ${Math.round((ratio - 1) * 100)} % worse, from ${ratios} times ${yardstick}`,
      ]
    })
  })
}

/** Formats a Markdown table with all columns but the first right-aligned. */
export function markdownTable(heading: readonly string[], cells: readonly (readonly string[])[]): string {
  const rule = heading.map((_, index) => (index === 0 ? '---' : '---:'))
  return [heading, rule, ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function isMissed(row: Row, medians: Medians, server: string): boolean {
  const limit = limitOf(row, medians, server)
  return limit !== undefined && (medians[row.name]?.[server] ?? 0) > limit
}

/** The most that is accepted of a server; undefined if there is no goal for it. */
function limitOf({ name, goal }: Row, medians: Medians, server: string): number | undefined {
  const factor = acceptedFactors.get(server)
  const most = goal === 'envoy' ? medians[name]?.['envoy'] : goal
  return factor === undefined || most === undefined ? undefined : most * factor
}

function relative(ofRow: Readonly<Record<string, number>>, server: string): number {
  return (ofRow[server] ?? NaN) / (ofRow[yardstick] ?? NaN)
}

/** Median with three significant digits. */
function roundedMedian(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? NaN
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2
  return median >= 100 ? Math.round(median) : Number(median.toPrecision(median >= 10 ? 3 : 2))
}
