import { InvalidArgumentError, type Command } from 'commander'
import { defaultDelimiter, parseIdentifier } from '../interface/identifiers.ts'
import { collect, time } from './arguments.ts'

/** The folder of a log, as every command takes it. */
export const folderArgument = ['<dir>', 'the folder of the log: `audit` in the data folder of `dev`'] as const

/** Public keys, as the commands that check seals take them. */
export const publicKeyOption = [
  '--public-key <file>',
  'the public key that seals must be signed with (PEM); may be repeated, where the key was changed',
  collect,
  [],
] as const

/** Adds the options that select records. */
export function withSelection(command: Command): Command {
  return command
    .option(
      '--table <id>',
      `of that table, such as prod${defaultDelimiter}sales${defaultDelimiter}orders`,
      tableId,
    )
    .option('--principal <name>', 'of that principal')
    .option('--operation <name>', 'of that operation, such as CreateTableVersion')
    .option('--since <time>', 'from then on, such as 2027-01-31T00:00:00Z', time)
    .option('--until <time>', 'before then', time)
}

/** An id as it stands in a route. */
export function tableId(text: string): readonly string[] {
  try {
    return parseIdentifier(text, defaultDelimiter)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}
