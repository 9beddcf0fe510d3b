import type { Sample } from './measure.ts'
import type { Workload } from './workloads.ts'

/** Baseline of all ratios. */
const yardstick = 'haproxy'

/** Samples of a workload by server name; undefined is a failed round. */
export type Rounds = ReadonlyMap<string, readonly (Sample | undefined)[]>

/**
 * Formats a Markdown table of the medians over the rounds. Ratios are medians of the ratios within each round, so that
 * other load on the machine cancels out.
 */
export function tableOf({ bulk }: Workload, rounds: Rounds): string {
  const isBulk = bulk !== undefined
  const heading = [
    'server',
    isBulk ? 'MB/s' : 'requests/s',
    'of HAProxy',
    'of direct',
    isBulk ? 'CPU ms / 100 MB' : 'CPU us / request',
    'of HAProxy',
    'of a core',
    'p50 ms',
    'p99 ms',
    'peak MB',
  ]
  const rows = [...rounds].map(([name, samples]) => {
    const median = (member: keyof Sample): number => medianOf(valuesOf(samples, member))
    const ratio = (member: keyof Sample, other: string): string =>
      percentage(ratioOf(samples, rounds.get(other), member))
    return [
      name,
      whole(median('perSecond')),
      ratio('perSecond', yardstick),
      ratio('perSecond', 'direct'),
      tenths(median('processorTime')),
      ratio('processorTime', yardstick),
      percentage(median('coreShare')),
      milliseconds(median('p50')),
      milliseconds(median('p99')),
      whole(median('memory') / 1e6),
    ]
  })
  return markdownTable(heading, rows)
}

/** Formats a Markdown table with all columns but the first right-aligned. */
export function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = heading.map((_, index) => (index === 0 ? '---' : '---:'))
  return [heading, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Median of the ratios of two servers within each round; NaN without rounds. */
export function ratioOf(
  samples: readonly (Sample | undefined)[],
  others: readonly (Sample | undefined)[] | undefined,
  member: keyof Sample,
): number {
  const ratios = samples.map(
    (sample, round) => (sample?.[member] ?? NaN) / (others?.[round]?.[member] ?? NaN),
  )
  return medianOf(ratios.filter((ratio) => !Number.isNaN(ratio)))
}

function valuesOf(samples: readonly (Sample | undefined)[], member: keyof Sample): number[] {
  return samples.flatMap((sample) => (sample === undefined ? [] : [sample[member]]))
}

/** Median; NaN without values. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2
}

/** Without a completed request there is no latency. */
function milliseconds(microseconds: number): string {
  return microseconds > 0 ? (microseconds / 1000).toFixed(2) : '-'
}

function percentage(ratio: number): string {
  return Number.isNaN(ratio) ? '-' : `${Math.round(ratio * 100)} %`
}

function tenths(value: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(1)
}

function whole(value: number): string {
  return Number.isNaN(value) ? '-' : Math.round(value).toLocaleString('en')
}
