import { CommanderError, type Command } from 'commander'
import { version } from '../version.ts'
import { CommandFailure } from './common/command-failure.ts'
import type { Io } from './common/io.ts'
import { newCommand } from './common/new-command.ts'

/** In the order of `--help`. */
const commands = new Map<string, (io: Io) => Promise<Command>>([
  ['dev', async (io) => (await import('./dev/dev.ts')).devCommand(io)],
  ['serve', async (io) => (await import('./serve.ts')).serveCommand(io)],
  ['backend', async (io) => (await import('./backend.ts')).backendCommand(io)],
  ['check', async (io) => (await import('./check.ts')).checkCommand(io)],
  ['keys', async (io) => (await import('./keys.ts')).keysCommand(io)],
  ['policy', async (io) => (await import('./policy/policy.ts')).policyCommand(io)],
  ['audit', async (io) => (await import('./audit/audit.ts')).auditCommand(io)],
])

/**
 * Runs the command line of the program, without the paths of Node and of the program. Resolves with its exit status: 0
 * success, 1 negative result, 2 usage error. Only servers (`dev`, `serve`, `backend`) use signals of this process.
 */
export async function run(parameters: readonly string[], io: Io): Promise<number> {
  const program = newCommand('catalog-gateway', io)
    .description('A reverse proxy and policy gateway in front of table catalogs.')
    .version(version)
  // Only the named one, for a fast start; all of them for help and errors.
  const named = commands.get(parameters[0] ?? '')
  for (const load of named === undefined ? commands.values() : [named]) program.addCommand(await load(io))
  try {
    await program.parseAsync(parameters, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0
      // Commander has already printed the usage error.
      const { explainRemovedArgument } = await import('../settings/index.ts')
      const removed = explainRemovedArgument(parameters)
      if (removed !== undefined) io.stderr.write(`it was removed: ${removed}\n`)
      return 2
    }
    io.stderr.write(`${formatError(error)}\n`)
    return 1
  }
}

function formatError(error: unknown): string {
  if (error instanceof CommandFailure) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
