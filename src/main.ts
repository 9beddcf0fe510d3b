#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { CommandFailure } from './commands/common/command-failure.ts'
import { version } from './version.ts'

/** Exit statuses: 0 good, 1 found wrong, 2 bad usage. */
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
// Nothing can be said of it.
process.stderr.on('error', () => undefined)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitStatus(error)
}

/** Only the command that is asked for is loaded, so that it starts at once; all of them for everything else. */
function commandsFor(name: string | undefined): readonly (() => Promise<Command>)[] {
  const requested = name === undefined ? undefined : commands.get(name)
  return requested === undefined ? [...commands.values()] : [requested]
}

/** A reader that has seen enough, such as `head`, is no error; and a server goes on without its output. */
function outputFailed({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE' || process.exitCode === exitFoundWrong) return
  process.stderr.write(`standard output cannot be written (${code})\n`)
  process.exitCode = exitFoundWrong
}

function exitStatus(error: unknown): number {
  // Commander has printed what it had to say: the help that was asked for, or the mistake.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitBadUsage
  if (error instanceof CommandFailure) process.stderr.write(`${error.message}\n`)
  else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  return exitFoundWrong
}
