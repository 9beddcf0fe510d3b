import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { CriticalFile } from './critical-files.ts'
import { copyTree } from './copy-tree.ts'
import { mutateFile, type FileResult } from './mutate-file.ts'
import { readOptions, usage, type MutationOptions } from './options.ts'
import { TestRunner } from './test-runner.ts'

const goal = 0.95

let options: MutationOptions | undefined
try {
  options = readOptions(process.argv.slice(2))
} catch (error) {
  console.error((error as Error).message)
  process.exit(2)
}
if (options === undefined) {
  console.log(usage)
  process.exit(0)
}

const copy = copyTree(fileURLToPath(new URL('../..', import.meta.url)))
const runner = new TestRunner(copy)
process.on('exit', () => {
  runner.close()
  rmSync(copy, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))

const sum = { tried: 0, survived: 0, timedOut: 0, equivalent: 0 }
try {
  for (const critical of options.files) await mutate(critical, options.sample)
} catch (error) {
  console.error((error as Error).message)
  process.exit(2)
}
if (options.files.length > 1) console.log(`all files: ${describe(sum)}`)
process.exit(capacityFound(sum) < goal ? 1 : 0)

async function mutate(critical: CriticalFile, sample: number): Promise<void> {
  const { file } = critical
  const result = await mutateFile(copy, critical, runner, sample, {
    onTried(tried, of) {
      if (process.stderr.isTTY)
        process.stderr.write(`\r\x1b[K${tried === of ? '' : `${file}: ${tried} of ${of}`}`)
    },
    onSurvived: ({ line, change }) => console.log(`${file}:${line}: ${change}`),
  })
  console.log(`${file}: ${describe(result)}`)
  sum.tried += result.tried
  sum.survived += result.survived
  sum.timedOut += result.timedOut
  sum.equivalent += result.equivalent
}

function describe({ tried, survived, timedOut, equivalent }: FileResult): string {
  const found = `${tried - survived} found (${timedOut} by timeout)`
  const percent = (capacityFound({ tried, survived }) * 100).toFixed(1)
  return `${tried} mutants, ${found}, ${survived} survived, ${equivalent} equivalent not tried: ${percent} %`
}

function capacityFound({ tried, survived }: { readonly tried: number; readonly survived: number }): number {
  return tried === 0 ? 1 : (tried - survived) / tried
}
