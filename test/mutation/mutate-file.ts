import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CriticalFile } from './critical-files.ts'
import { equivalentMutants } from './equivalent-mutants.ts'
import { findMutants } from './find-mutants.ts'
import type { Mutant } from './mutant.ts'
import type { TestRunner } from './test-runner.ts'

export interface FileResult {
  readonly tried: number
  readonly survived: number
  /** Mutants whose tests timed out; they count as detected. */
  readonly timedOut: number
  readonly equivalent: number
}

export interface MutationListener {
  readonly onTried: (tried: number, of: number) => void
  readonly onSurvived: (mutant: Mutant) => void
}

/**
 * Writes the mutants of a file, or a sample of them, into the copy at `root`, one at a time, and runs its tests. Throws
 * if the tests fail without a mutant, or if a listed equivalent mutant does not match exactly one mutant of the file.
 */
export async function mutateFile(
  root: string,
  { file, tests }: CriticalFile,
  runner: TestRunner,
  sample: number,
  { onTried, onSurvived }: MutationListener,
): Promise<FileResult> {
  const path = join(root, file)
  const source = readFileSync(path, 'utf8')
  const { toTry, equivalent } = splitEquivalent(file, findMutants(file, source))
  const mutants = takeSample(toTry, sample)
  const request = { mutated: path, tests }
  const timeoutMs = await measureTimeout(file, () => runner.run(request, firstTimeoutMs))
  let survived = 0
  let timedOut = 0
  try {
    for (const [index, mutant] of mutants.entries()) {
      writeFileSync(path, source.slice(0, mutant.start) + mutant.replacement + source.slice(mutant.end))
      const result = await runner.run(request, timeoutMs)
      if (result === undefined) timedOut += 1
      else if (result.failure === undefined) {
        survived += 1
        onSurvived(mutant)
      }
      onTried(index + 1, mutants.length)
    }
  } finally {
    writeFileSync(path, source)
    // It still has the last mutant loaded, which would affect the next file.
    runner.close()
  }
  return { tried: mutants.length, survived, timedOut, equivalent }
}

const firstTimeoutMs = 600_000

/** Measures the tests without a mutant; the timeout is a multiple, since the load of the machine varies. */
async function measureTimeout(file: string, run: () => ReturnType<TestRunner['run']>): Promise<number> {
  const result = await run()
  if (result === undefined) throw new Error(`the tests of ${file} do not end without a mutant`)
  if (result.files === 0) throw new Error(`there are no tests of ${file}`)
  if (result.failure !== undefined)
    throw new Error(`the tests of ${file} fail without a mutant: ${result.failure}`)
  // The first run also loads the sources.
  const begin = performance.now()
  await run()
  return Math.ceil(15_000 + 3 * (performance.now() - begin))
}

/** Key of a mutant in the list of equivalent ones. */
function identify({ lineText, change }: Pick<Mutant, 'lineText' | 'change'>): string {
  return `${lineText}: ${change}`
}

function splitEquivalent(
  file: string,
  mutants: readonly Mutant[],
): { toTry: readonly Mutant[]; equivalent: number } {
  const listed = equivalentMutants
    .filter((entry) => entry.file === file)
    .flatMap(({ line, changes }) => changes.map((change) => identify({ lineText: line, change })))
  for (const entry of listed) {
    const count = mutants.filter((mutant) => identify(mutant) === entry).length
    if (count !== 1)
      throw new Error(
        `${file} has ${count} mutants such as equivalent-mutants.ts lists; expected one: ${entry}`,
      )
  }
  const toTry = mutants.filter((mutant) => !listed.includes(identify(mutant)))
  return { toTry, equivalent: mutants.length - toTry.length }
}

/** Selects by hash, so that a sample is stable while other lines change. */
function takeSample(mutants: readonly Mutant[], sample: number): readonly Mutant[] {
  return mutants
    .map((mutant) => ({ mutant, hash: createHash('sha256').update(identify(mutant)).digest('hex') }))
    .toSorted((one, other) => (one.hash < other.hash ? -1 : 1))
    .slice(0, sample)
    .map(({ mutant }) => mutant)
    .toSorted((one, other) => one.start - other.start)
}
