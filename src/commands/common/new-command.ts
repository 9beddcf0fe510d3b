import { Command } from 'commander'
import type { Io } from './io.ts'

/**
 * Creates a command that throws usage errors, so that `run` chooses the exit status, and refers to its help. Subcommands
 * added by `.command` inherit this.
 */
export function newCommand(name: string, { stdout, stderr }: Io): Command {
  return new Command(name)
    .exitOverride()
    .showHelpAfterError('(see --help)')
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    })
}
