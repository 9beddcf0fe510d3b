#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { auditCommand } from './commands/audit.ts'
import { backendCommand } from './commands/backend.ts'
import { checkCommand } from './commands/check.ts'
import { demoCommand } from './commands/demo.ts'
import { devCommand } from './commands/dev.ts'
import { keysCommand } from './commands/keys.ts'
import { policyCommand } from './commands/policy.ts'
import { serveCommand } from './commands/serve.ts'
import { CommandFailure } from './commands/failure.ts'
import { version } from './version.ts'

/** Exit statuses: 0 good, 1 found wrong, 2 bad usage. */
const foundWrong = 1
const badUsage = 2

const program = new Command('catalog-gateway')
  .description('A reverse proxy and policy gateway in front of table catalogs.')
  .version(version)
  .showHelpAfterError('(--help shows what it takes)')
  .exitOverride()
for (const command of [
  devCommand(),
  demoCommand(),
  serveCommand(),
  backendCommand(),
  checkCommand(),
  keysCommand(),
  policyCommand(),
  auditCommand(),
]) {
  program.addCommand(command)
}

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitStatus(error)
}

function exitStatus(error: unknown): number {
  // Commander has printed what it had to say: the help that was asked for, or the mistake.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : badUsage
  if (error instanceof CommandFailure) process.stderr.write(`${error.message}\n`)
  else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  return foundWrong
}
