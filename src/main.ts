#!/usr/bin/env node
import { run } from './commands/command-line.ts'

const { stdout, stderr, env: environment } = process
stdout.on('error', outputFailed)
// There is nowhere left to report it.
stderr.on('error', () => undefined)

const status = await run(process.argv.slice(2), { stdout, stderr, environment })
if (status !== 0) process.exitCode = status

/** A reader that closes early, such as `head`, is not an error; a server continues without its output. */
function outputFailed({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE' || process.exitCode === 1) return
  stderr.write(`standard output cannot be written (${code})\n`)
  process.exitCode = 1
}
