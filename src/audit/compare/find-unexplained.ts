import type { BranchRecords, TimeSpan } from './recorded-versions.ts'

/** A version as the catalog lists it. */
export interface ListedVersion {
  readonly version: number
  /** Milliseconds since 1970; undefined if the catalog does not state it. */
  readonly time: number | undefined
}

/** The clocks of the gateway and of the writers of versions may differ by this much. */
export const clockToleranceMs = 10_000

/**
 * Returns the versions of a branch that no record explains, in ascending order, without those before `since`. A change
 * whose record states no version explains one that was made meanwhile, so of several such versions another may be named
 * than the one that was made past the gateway: their number is right.
 */
export function findUnexplained(
  versions: readonly ListedVersion[],
  records: BranchRecords,
  since: number,
): ListedVersion[] {
  const begin = Math.max(since, records.baseline)
  let latest: number | undefined
  const open: ListedVersion[] = []
  for (const { version, time } of versions.toSorted((one, other) => one.version - other.version)) {
    // The writer of a version can state a wrong time, but no version is older than those before it.
    if (time !== undefined) latest = Math.max(time, latest ?? time)
    const isOld = latest !== undefined && latest <= begin
    if (!isOld && !records.stated.has(version)) open.push({ version, time: latest })
  }
  const { jobs, unnumbered } = records
  const isOfJob = ({ time }: ListedVersion): boolean =>
    jobs.length > 0 &&
    (time === undefined || jobs.some(({ from, to }) => from - clockToleranceMs <= time && time <= to))
  return removeMatched(
    open.filter((version) => !isOfJob(version)),
    unnumbered,
  )
}

/**
 * Removes at most one version for each span, and as many as possible: each version takes the span around it that ends
 * first. A version without a time may be that of any change.
 */
function removeMatched(versions: readonly ListedVersion[], spans: readonly TimeSpan[]): ListedVersion[] {
  const later = spans.toSorted((one, other) => other.from - one.from)
  /** Begun, in the order of their ends. */
  const open: TimeSpan[] = []
  let unused = spans.length
  const left = versions.filter(({ time }) => {
    if (time === undefined) return true
    for (let span = later.at(-1); span && span.from - clockToleranceMs <= time; span = later.at(-1)) {
      const { to } = span
      const behind = open.findIndex((other) => other.to > to)
      open.splice(behind === -1 ? open.length : behind, 0, span)
      later.pop()
    }
    while (open[0] !== undefined && open[0].to + clockToleranceMs < time) open.shift()
    if (open.shift() === undefined) return true
    unused -= 1
    return false
  })
  return left.filter(({ time }) => time !== undefined || unused-- <= 0)
}
