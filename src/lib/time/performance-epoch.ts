/**
 * Answers when performance.now() was 0, in milliseconds since 1970 by the clock of the machine, which may be set. It is
 * at most one off, soon far less, and does not go back unless that clock does: what began later is told later.
 */
export function createPerformanceEpoch(clock = Date.now, sinceStart = () => performance.now()): () => number {
  let epoch = -Infinity
  return () => {
    // The clock is cut to whole milliseconds, so this is up to one too early, and the latest of many is the best.
    const latest = clock() - sinceStart()
    if (latest > epoch || latest < epoch - 1) epoch = latest
    return epoch
  }
}
