import { Command } from 'commander'
import type { Io } from './io.ts'

/** Of a line of help that goes to a file or another program. */
const usualColumns = 80

export const jsonOption = ['--json', 'print JSON'] as const

/** Formats commands as typed for the end of a help text. */
export function formatExample(...commands: readonly string[]): string {
  return ['\nExample:', ...commands].join('\n  ')
}

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
      getOutHelpWidth: () => stdout.columns ?? usualColumns,
    })
}
