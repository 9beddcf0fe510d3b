import { expect } from 'vitest'

const maxTries = 12

/**
 * Expects that work on four times the size costs at most nine times the processor time: linear work costs four times,
 * quadratic work sixteen. `prepare` makes the work for a size; only the returned function is measured.
 */
export async function expectLinearCost(
  size: number,
  prepare: (size: number) => () => unknown,
): Promise<void> {
  const [small, large] = [prepare(size), prepare(4 * size)]
  // The least of some runs: the first ones also compile, and other work on the machine only adds to a run.
  let [costOfSmall, costOfLarge] = [Infinity, Infinity]
  for (let run = 0; run < maxTries && !(run > 1 && costOfLarge <= 9 * costOfSmall); run++) {
    costOfSmall = Math.min(costOfSmall, Math.max(1, await processorMsOf(small)))
    costOfLarge = Math.min(costOfLarge, await processorMsOf(large))
  }
  const costs = `${costOfSmall} ms for ${size}, ${costOfLarge} ms for ${4 * size}`
  expect(costOfLarge / costOfSmall, costs).toBeLessThanOrEqual(9)
}

/** Returns the milliseconds of processor time of the work: a busy machine makes it later, not longer. */
export async function processorMsOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}
