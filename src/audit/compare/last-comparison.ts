import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ignoreMissing, parseJsonBytes, writeAtomically } from '../../lib/index.ts'

const comparisonSchema = z.object({
  /** ISO 8601, as are the other times. */
  time: z.string(),
  /** Versions from this time on were compared; undefined for all. */
  since: z.string().optional(),
  tables: z.number(),
  versions: z.number(),
  /** Number of versions without a record that explains them. */
  unexplained: z.number(),
  /** Some of them. */
  found: z.array(
    z.object({
      id: z.array(z.string()),
      branch: z.string(),
      version: z.number(),
      time: z.string().optional(),
    }),
  ),
  /** Why not all tables were compared; the first few. */
  problems: z.array(z.string()),
})

/** The result of `audit compare`. */
export type Comparison = z.output<typeof comparisonSchema>

const file = 'last-comparison.json'

/** Keeps the result in the folder of an audit log, in place of the last one. Rejects if the folder cannot be written. */
export function saveComparison(folder: string, comparison: Comparison): Promise<void> {
  return writeAtomically(join(folder, file), JSON.stringify(comparison))
}

/** Undefined if no result was kept that this release can read. */
export async function readComparison(folder: string): Promise<Comparison | undefined> {
  const bytes = await readFile(join(folder, file)).catch(ignoreMissing)
  return comparisonSchema.safeParse(bytes && parseJsonBytes(bytes)).data
}
