import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { criticalFiles, type CriticalFile } from './critical-files.ts'
import { findMutants, type Mutant } from './find-mutants.ts'
import { TestRunner } from './test-runner.ts'

const usage = `usage: npm run mutate -- [--sample N] [FILE...]

Makes one change at a time to critical source files in a copy of the tree, and runs the tests of the file. A change that
no test detects is printed as "file:line: before -> after". Fails if fewer than 95 % of the mutants are detected: some
change nothing that a test could see. Without FILE, all files of test/mutation/critical-files.ts are mutated.

  --sample N  tries N mutants of each file, always the same ones
`
const goal = 0.95
const firstTimeoutMs = 600_000
const leftOut: ReadonlySet<string> = new Set(['.git', 'node_modules', 'coverage', '.catalog-gateway'])

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean' }, sample: { type: 'string' } },
})
const sample = Number(values.sample ?? Number.MAX_SAFE_INTEGER)
const unknown = positionals.filter((name) => !criticalFiles.some(({ file }) => file === name))
if (values.help === true || !(sample >= 1) || unknown.length > 0) {
  console.log(unknown.length === 0 ? usage : `not in test/mutation/critical-files.ts: ${unknown.join(', ')}`)
  process.exit(values.help === true ? 0 : 2)
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const copy = mkdtempSync(join(tmpdir(), 'mutation-'))
const runner = new TestRunner(copy)
process.on('exit', () => {
  runner.close()
  rmSync(copy, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
cpSync(root, copy, { recursive: true, filter: (from) => !leftOut.has(basename(from)) })
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))

let [allTried, allFound] = [0, 0]
for (const critical of criticalFiles) {
  if (positionals.length > 0 && !positionals.includes(critical.file)) continue
  const { tried, survived, timedOut } = await mutate(critical)
  report(critical.file, tried, tried - survived, `${timedOut} by timeout`)
  allTried += tried
  allFound += tried - survived
}
report('all files', allTried, allFound, 'in all')
process.exit(allFound < goal * allTried ? 1 : 0)

function report(what: string, tried: number, found: number, remark: string): void {
  const percent = ((100 * found) / Math.max(tried, 1)).toFixed(1)
  console.log(`${what}: ${found} of ${tried} mutants found (${remark}): ${percent} %`)
}

/**
 * Writes the mutants of a file, or a sample of them, into the copy, one at a time, and runs its tests. Throws if the tests
 * fail without a mutant.
 */
async function mutate({ file, tests }: CriticalFile) {
  const path = join(copy, file)
  const source = readFileSync(path, 'utf8')
  const mutants = takeSample(findMutants(file, source))
  const request = { mutated: path, tests }
  const result = await runner.run(request, firstTimeoutMs)
  if (result === undefined || result.files === 0 || result.failure !== undefined)
    throw new Error(
      `the tests of ${file} do not pass without a mutant: ${result?.failure ?? 'none has ended'}`,
    )
  // The first run also loads the sources. The timeout is a multiple, since the load of the machine varies.
  const begin = performance.now()
  await runner.run(request, firstTimeoutMs)
  const timeoutMs = Math.ceil(15_000 + 3 * (performance.now() - begin))
  let [survived, timedOut] = [0, 0]
  for (const { start, end, replacement, line, change } of mutants) {
    writeFileSync(path, source.slice(0, start) + replacement + source.slice(end))
    const outcome = await runner.run(request, timeoutMs)
    if (outcome === undefined) timedOut += 1
    else if (outcome.failure === undefined) {
      survived += 1
      console.log(`${file}:${line}: ${change}`)
    }
  }
  writeFileSync(path, source)
  // It still has the last mutant loaded, which would affect the next file.
  runner.close()
  return { tried: mutants.length, survived, timedOut }
}

/** Selects by hash, so that a sample is stable while other lines change. */
function takeSample(mutants: readonly Mutant[]): readonly Mutant[] {
  return mutants
    .map((mutant) => ({ mutant, key: createHash('sha256').update(mutant.change).digest('hex') }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1))
    .slice(0, sample)
    .map(({ mutant }) => mutant)
    .toSorted((one, other) => one.start - other.start)
}
