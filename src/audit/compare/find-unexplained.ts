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
    // Whoever writes a version states its time: it is not older than those before it.
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
 * Removes at most one version for each span. As many as possible are removed, since the spans are taken in the order of
 * their ends, each with its earliest version.
 */
function removeMatched(versions: readonly ListedVersion[], spans: readonly TimeSpan[]): ListedVersion[] {
  const times = versions.map(({ time = -Infinity }) => time)
  // `next[index]` leads to the first version from `index` on that is left.
  const next = Array.from({ length: times.length + 1 }, (_, index) => index)
  const findLeft = (index: number): number => {
    let left = index
    while (next[left] !== left) left = next[left] ?? left
    for (let at = index; at !== left;) [at, next[at]] = [next[at] ?? left, left]
    return left
  }
  let unused = 0
  for (const { from, to } of spans.toSorted((one, other) => one.to - other.to)) {
    const left = findLeft(findFirst(times, from - clockToleranceMs))
    const time = times[left]
    if (time !== undefined && time <= to + clockToleranceMs) next[left] = left + 1
    else unused += 1
  }
  const left = versions.filter((_, index) => next[index] === index)
  // A version without a time may be that of any change.
  return left.filter(({ time }) => time !== undefined || unused-- <= 0)
}

/** Returns the index of the first time that is not before `time`; the times are in ascending order. */
function findFirst(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] ?? Infinity) < time) low = middle + 1
    else high = middle
  }
  return low
}
