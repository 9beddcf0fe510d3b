import { Command } from 'commander'

/**
 * Creates a command that throws usage errors, so that main.ts chooses the exit status, and refers to its help.
 * Subcommands added by `.command` inherit this.
 */
export function newCommand(name: string): Command {
  return new Command(name).exitOverride().showHelpAfterError('(see --help)')
}
