import type { Command } from 'commander'
import {
  listSegments,
  type ObjectId,
  passThroughOperation,
  type RecordFilter,
  type Selection,
  selectRecords,
} from '../../audit/index.ts'
import { findOperation, isOperationName, operationNames, permissionGroups } from '../../catalog-api/index.ts'
import { suggestSimilar } from '../../lib/index.ts'
import { parseIdArgument, parsePositiveInteger, parseTimeOrAge, readConfig } from '../common/arguments.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'
import { type Io, printLines } from '../common/io.ts'
import { createLogProblems } from '../common/log-problems.ts'
import { formatExample, newCommand } from '../common/new-command.ts'
import { folderArgument } from './audit-verify.ts'
import { formatRecordRow, formatStory, printable, tableHeader } from './format-records.ts'

interface QueryOptions extends Omit<Selection, 'object' | 'kinds'> {
  readonly table?: ObjectId
  readonly denied?: boolean
  readonly config?: string
  readonly json?: boolean
}

export function queryCommand(io: Io): Command {
  return newCommand('query', io)
    .description('show the records of an audit log, oldest first; with --request all that they contain')
    .argument('[dir]', `${folderArgument[1]}; default: that of --config`)
    .option(
      '--request <id>',
      'only records of this request: the `instance` of an error, the header x-request-id, or at least 8 characters from the start of it',
    )
    .option(
      '--table <id>',
      'only records of this table, such as prod/sales/orders or prod$sales$orders, or of a namespace and what is beneath it',
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
    .option('--config <file>', 'the settings of the gateway, with its audit folder')
    .option('--json', 'print the records as stored, as JSON lines')
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway audit query .catalog-gateway/audit --denied --since 1h',
        'catalog-gateway audit query .catalog-gateway/audit --request ID',
      ),
    )
    .addHelpText('after', '\nID is the `instance` in the body of an error.')
    .action((folder: string | undefined, options: QueryOptions, command: Command) =>
      query(folder, options, command, io),
    )
}

async function query(
  folder: string | undefined,
  { config, json, table: object, denied, ...options }: QueryOptions,
  command: Command,
  io: Io,
): Promise<void> {
  const kinds = denied ? (['refusal'] as const) : undefined
  const selection = { ...options, object, kinds }
  const isStory = selection.request !== undefined && !json
  if (config === undefined && folder === undefined) return command.error('error: expected <dir> or --config')
  const auditFolder = folder ?? (await readConfig(config ?? '', io)).audit.folder
  const problems = createLogProblems(io)
  let selected = 0
  async function* lines(): AsyncGenerator<string> {
    for await (const found of selectRecords(auditFolder, selection, problems.report)) {
      if (selected === 0 && !isStory && !json) yield tableHeader
      selected += 1
      if (isStory) yield* formatStory(found)
      else yield json ? JSON.stringify(found.record) : formatRecordRow(found)
    }
  }
  const isPrinted = await runStep(readStep, () => printLines(io, lines()))
  if (isPrinted && selected === 0) await explainNothing(auditFolder, selection, command, io)
  if (isPrinted) problems.assertNone()
}

const readStep = 'the audit log cannot be read'

/** States on standard error why there are no records. Ends the command if there is no log, operation or request. */
async function explainNothing(folder: string, filter: RecordFilter, command: Command, io: Io): Promise<void> {
  const { request, operation = '' } = filter
  const segments = await runStep(readStep, () => listSegments(folder))
  if (segments.length === 0) throw new CommandFailure(`${folder} contains no audit log`)
  const group = permissionGroups.get(operation)
  const isKnown = isOperationName(operation) || operation === passThroughOperation || group !== undefined
  if (operation !== '' && !isKnown) {
    const suggestion = suggestSimilar(operation, [...operationNames, ...permissionGroups.keys()])
    const what = `neither the catalog API nor a selected record has the operation ${JSON.stringify(operation)}`
    command.error(printable(`error: ${what}${suggestion}`))
  }
  if (request !== undefined)
    throw new CommandFailure(
      `no record of the request ${JSON.stringify(request)}: recorded are changes, denials, rejected credentials (one of a minute), and\n` +
        'reads with audit.reads, each by the gateway that received it; look for this requestId in its log lines',
    )
  const isOfReads = (group ?? [operation]).some((name) => findOperation(name)?.effect === 'read')
  const note = isOfReads ? '; reads are recorded only with audit.reads' : ''
  io.stderr.write(`no such records${note}\n`)
}
