/**
 * Returns the wall-clock time (milliseconds since 1970) at which performance.now() was 0; off by at most one
 * millisecond. It never decreases unless the wall clock is set back: later events get later times.
 */
export function createPerformanceEpoch(clock = Date.now, sinceStart = () => performance.now()): () => number {
  let epoch = -Infinity
  return () => {
    // The clock truncates to whole milliseconds, so each sample is up to one too low; the maximum of many is best.
    const latest = clock() - sinceStart()
    if (latest > epoch || latest < epoch - 1) epoch = latest
    return epoch
  }
}
