import { Command } from 'commander'

/**
 * A command that throws mistakes of usage, so that main.ts can choose the exit status, and points to its help.
 * Commands made beneath it by `.command` do the same.
 */
export function newCommand(name: string): Command {
  return new Command(name).exitOverride().showHelpAfterError('(see --help)')
}
