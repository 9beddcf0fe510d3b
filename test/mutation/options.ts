import { parseArgs } from 'node:util'
import { criticalFiles, type CriticalFile } from './critical-files.ts'

export interface MutationOptions {
  readonly files: readonly CriticalFile[]
  /** Maximum mutants per file. */
  readonly sample: number
}

export const usage = `usage: npm run mutate -- [options] [FILE...]

Makes one change at a time to critical source files in a copy of the tree, and runs the tests of the file. A change that
no test detects is printed as "file:line: before -> after". Fails if fewer than 95 % of the mutants are detected.
Without FILE, all files of test/mutation/critical-files.ts are mutated.

  --sample N  tries N mutants of each file, always the same ones
`

/** Parses the command line; undefined if it requests help. Throws TypeError or RangeError for invalid options. */
export function readOptions(parameters: readonly string[]): MutationOptions | undefined {
  const { values, positionals } = parseArgs({
    args: [...parameters],
    allowPositionals: true,
    options: { help: { type: 'boolean' }, sample: { type: 'string' } },
  })
  if (values.help === true) return undefined
  const sample = values.sample === undefined ? Number.POSITIVE_INFINITY : Number(values.sample)
  if (!(sample >= 1) || (values.sample !== undefined && !Number.isInteger(sample)))
    throw new RangeError(`--sample is "${values.sample}"; expected a whole number above 0`)
  return { files: positionals.length === 0 ? criticalFiles : positionals.map(criticalFile), sample }
}

function criticalFile(name: string): CriticalFile {
  const found = criticalFiles.find(({ file }) => file === name)
  if (found !== undefined) return found
  throw new RangeError(`"${name}" is not in test/mutation/critical-files.ts`)
}
