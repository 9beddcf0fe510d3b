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
  const costs = Array.from({ length: tries }, () => {
    const start = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(start)
    return user + system
  })
  return Math.max(1_000, Math.min(...costs))
}
