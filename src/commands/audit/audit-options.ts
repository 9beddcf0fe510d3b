import { InvalidArgumentError, type Command } from 'commander'
import { defaultDelimiter, parseIdentifier } from '../../catalog-api/identifiers.ts'
import { collect, parseTime } from '../common/arguments.ts'

export const folderArgument = [
  '<dir>',
  'the folder of the audit log (for `dev`: `audit` in its data folder)',
] as const

export const publicKeyOption = [
  '--public-key <file>',
  'a public key of the seals (PEM); repeatable if the key was rotated',
  collect,
  [],
] as const

export function addSelectionOptions(command: Command): Command {
  return command
    .option(
      '--table <id>',
      `only records of this table, such as prod${defaultDelimiter}sales${defaultDelimiter}orders`,
      parseTableId,
    )
    .option('--principal <name>', 'only records of this principal')
    .option('--operation <name>', 'only records of this operation, such as CreateTableVersion')
    .option('--since <time>', 'only records from this time on, such as 2027-01-31T00:00:00Z', parseTime)
    .option('--until <time>', 'only records before this time', parseTime)
}

export function parseTableId(text: string): readonly string[] {
  try {
    return parseIdentifier(text, defaultDelimiter, 'allowed')
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}
