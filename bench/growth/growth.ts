import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Something that grows, and what its parts cost. */
export interface Growth {
  /** What is counted. */
  readonly unit: string
  /** For the table, each ten times the one before. */
  readonly sizes: readonly number[]
  /** For the test: the costs that do not grow count little. */
  readonly shortSizes: readonly [few: number, fourTimesAsMany: number]
  /** In `folder`, which is empty. */
  measure(size: number, folder: string): Promise<readonly Cost[]>
}

export interface Cost {
  readonly what: string
  readonly amount: number
  readonly unit: 'ms' | 'calls'
}

/** Measures once, in a temporary folder. */
export async function measureOnce(growth: Growth, size: number): Promise<readonly Cost[]> {
  const folder = await mkdtemp(join(tmpdir(), 'growth-'))
  try {
    return await growth.measure(size, folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** CPU time of this process, all its threads included. */
export async function processorCost(what: string, run: () => Promise<unknown>): Promise<Cost> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return { what, amount: (user + system) / 1_000, unit: 'ms' }
}
