import type { Command } from 'commander'
import { collect, parseIdArgument, parsePositiveInteger, parseTimeOrAge } from '../common/arguments.ts'

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
      '--request <id>',
      'only records of this request: the `instance` of an error, or the header x-request-id',
    )
    .option(
      '--table <id>',
      'only records of this table, such as prod/sales/orders or prod$sales$orders',
      parseIdArgument,
    )
    .option('--principal <name>', 'only records of this principal')
    .option(
      '--operation <name>',
      'only records of this operation, such as CreateTableVersion, or of a group such as write',
    )
    .option(
      '--rule <name>',
      'only records of requests that this rule allowed or denied: its id, or policy/id',
    )
    .option('--denied', 'only refused requests: denials and rejected credentials')
    .option(
      '--since <time>',
      'only records from this time on, such as 2027-01-31T00:00:00Z or 1h (one hour ago)',
      parseTimeOrAge,
    )
    .option('--until <time>', 'only records before this time', parseTimeOrAge)
    .option('--last <number>', 'only the newest records of the selection', parsePositiveInteger)
}
