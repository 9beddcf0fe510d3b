import type { Command } from 'commander'
import { CommandFailure } from '../common/command-failure.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import { formatExample, jsonOption } from '../common/new-command.ts'

/** What a command has found. */
export interface Report {
  /** For `--json`. */
  readonly content: unknown
  readonly lines: readonly string[]
  /** Why the command fails after it has printed the report. */
  readonly failure?: string | undefined
}

/** The arguments and options of a command, whose types its definition has. */
type Given = Parameters<Parameters<Command['action']>[0]>

/** Completes a command that prints a report, as lines or as JSON. `find` takes what the command is given. */
export function addReport(
  command: Command,
  io: Io,
  examples: readonly string[],
  find: (...given: Given) => Promise<Report>,
): void {
  command
    .option(...jsonOption)
    .addHelpText('after', formatExample(...examples.map((example) => `catalog-gateway policy ${example}`)))
    .action(async (...given) => {
      const { content, lines, failure } = await find(...given)
      if (command.opts()['json']) printJson(io, content)
      else for (const line of lines) printLine(io, line)
      if (failure !== undefined) throw new CommandFailure(failure)
    })
}
