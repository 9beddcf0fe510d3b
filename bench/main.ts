// Measures the cost of the gateway against other servers: npm run bench -- --help
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOptions, usage, type BenchOptions } from './options.ts'
import { runBench } from './run-bench.ts'
import { stopForGood } from './server-process.ts'

const stopping = new AbortController()
const options = parsedOptions()
if (options !== undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  const cleanUp = async (): Promise<void> => {
    stopping.abort()
    await stopForGood()
    await rm(folder, { recursive: true, force: true })
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void cleanUp().then(() => process.exit(130)))
  }
  try {
    await runBench(options, { folder, say, signal: stopping.signal })
  } catch (error) {
    process.exitCode = 1
    say(error instanceof Error ? error.message : String(error))
  } finally {
    await cleanUp()
  }
}

function parsedOptions(): BenchOptions | undefined {
  try {
    const options = readOptions(process.argv.slice(2))
    if (options === undefined) process.stdout.write(usage)
    return options
  } catch (error) {
    process.exitCode = 2
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
    return undefined
  }
}

/** Progress goes to standard error; standard output only has the results. */
function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
