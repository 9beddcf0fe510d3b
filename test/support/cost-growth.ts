import { expect } from 'vitest'

const tries = 3

/**
 * Expects that work on four times the size costs at most nine times the processor time: linear work costs four times,
 * quadratic work sixteen. `prepare` makes the work for a size; only what it returns is measured.
 */
export function expectLinearCost(size: number, prepare: (size: number) => () => unknown): void {
  const small = measure(prepare(size))
  const large = measure(prepare(4 * size))
  expect(large / small, `${small} us for ${size}, ${large} us for ${4 * size}`).toBeLessThanOrEqual(9)
}

/** The least microseconds of processor time of some runs, the first of which also compiles. */
function measure(work: () => unknown): number {
  return Math.max(1_000, 1_000 * Math.min(...Array.from({ length: tries }, () => processorMsOf(work))))
}

/** Returns the milliseconds of processor time of the work: a busy machine makes it later, not longer. */
export function processorMsOf(work: () => unknown): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}
