#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { CommandFailure } from './commands/common/command-failure.ts'
import { version } from './version.ts'

/** Exit statuses: 0 success, 1 negative result, 2 usage error. */
const exitFoundWrong = 1
const exitBadUsage = 2

/** In the order of `--help`. */
const commands = new Map<string, () => Promise<Command>>([
  ['dev', async () => (await import('./commands/dev/dev.ts')).devCommand()],
  ['demo', async () => (await import('./commands/dev/demo.ts')).demoCommand()],
  ['serve', async () => (await import('./commands/serve.ts')).serveCommand()],
  ['backend', async () => (await import('./commands/backend.ts')).backendCommand()],
  ['check', async () => (await import('./commands/check.ts')).checkCommand()],
  ['keys', async () => (await import('./commands/keys.ts')).keysCommand()],
  ['policy', async () => (await import('./commands/policy/policy.ts')).policyCommand()],
  ['audit', async () => (await import('./commands/audit/audit.ts')).auditCommand()],
])

const program = new Command('catalog-gateway')
  .description('A reverse proxy and policy gateway in front of table catalogs.')
  .version(version)
  .showHelpAfterError('(see --help)')
  .exitOverride()
for (const load of commandsFor(process.argv[2])) program.addCommand(await load())

process.stdout.on('error', outputFailed)
// There is nowhere left to report it.
process.stderr.on('error', () => undefined)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitStatus(error)
}

/** Loads only the named command for a fast start; all of them for help and errors. */
function commandsFor(name: string | undefined): readonly (() => Promise<Command>)[] {
  const requested = name === undefined ? undefined : commands.get(name)
  return requested === undefined ? [...commands.values()] : [requested]
}

/** A reader that closes early, such as `head`, is not an error; a server continues without its output. */
function outputFailed({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE' || process.exitCode === exitFoundWrong) return
  process.stderr.write(`standard output cannot be written (${code})\n`)
  process.exitCode = exitFoundWrong
}

function exitStatus(error: unknown): number {
  // Commander has already printed the help or the usage error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitBadUsage
  if (error instanceof CommandFailure) process.stderr.write(`${error.message}\n`)
  else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  return exitFoundWrong
}
