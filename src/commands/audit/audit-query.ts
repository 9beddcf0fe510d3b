import type { Command } from 'commander'
import { getRequestRecord, type SelectedRecord, type Selection } from '../../audit/query/select-records.ts'
import { readGatewaySettings, type GatewaySettings } from '../../config/gateway-settings.ts'
import { folderArgument } from './audit-verify.ts'
import { collect, parseIdArgument, parsePositiveInteger, parseTimeOrAge } from '../common/arguments.ts'
import { runStep } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { formatExample, newCommand } from '../common/new-command.ts'
import { formatIds, formatResult, printable } from './format-result.ts'
import { formatStory } from './format-story.ts'
import { openRuleLocator } from './locate-rule.ts'
import { printSelection } from './print-selection.ts'

interface QueryOptions extends Selection {
  readonly policies: readonly string[]
  readonly config?: string
  readonly json?: boolean
}

export function queryCommand(io: Io): Command {
  return addSelectionOptions(newCommand('query', io))
    .description('show the records of an audit log, oldest first; with --request all that they contain')
    .argument('[dir]', `${folderArgument[1]}; default: that of --config`)
    .option(
      '--policies <dir>',
      'a folder of policies, in which --request finds the rule; repeatable',
      collect,
      [],
    )
    .option(
      '--config <file>',
      'the settings of the gateway: its audit folder, and its policies for --request',
    )
    .option('--json', 'print the records as stored, as JSON lines')
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway audit query .catalog-gateway/audit --denied --since 1h',
        'catalog-gateway audit query .catalog-gateway/audit --policies policies --request ID',
      ),
    )
    .addHelpText('after', '\nID is the `instance` in the body of an error.')
    .action((folder: string | undefined, options: QueryOptions, command: Command) =>
      query(folder, options, command, io),
    )
}

function addSelectionOptions(command: Command): Command {
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

async function query(
  folder: string | undefined,
  { policies, config, json, ...selection }: QueryOptions,
  command: Command,
  io: Io,
): Promise<void> {
  const isStory = selection.request !== undefined && !json
  if (policies.length > 0 && !isStory)
    return command.error('error: expected --policies with --request and without --json')
  if (config === undefined && folder === undefined) return command.error('error: expected <dir> or --config')
  const settings =
    config === undefined
      ? undefined
      : await runStep(`the settings in ${config} cannot be used`, () =>
          readGatewaySettings(config, io.environment),
        )
  const auditFolder = folder ?? settings?.audit.folder ?? ''
  const format = isStory ? await createStory(policies, settings) : json ? formatJson : createTable()
  await printSelection(auditFolder, selection, format, command, io)
}

async function createStory(
  policies: readonly string[],
  settings: GatewaySettings | undefined,
): Promise<(record: SelectedRecord) => readonly string[]> {
  const locate = await openRuleLocator(policies, settings)
  return (record) => formatStory(record, locate)
}

function formatJson({ record }: SelectedRecord): readonly string[] {
  return [JSON.stringify(record)]
}

/** The first row follows the header. */
function createTable(): (record: SelectedRecord) => readonly string[] {
  let header = [
    formatRow('TIME', 'CHAIN:SEQ', 'KIND', 'PRINCIPAL', 'OPERATION', 'OBJECT', 'REQUEST', 'RESULT'),
  ]
  return (selected) => {
    const lines = [...header, formatRecordRow(selected)]
    header = []
    return lines
  }
}

function formatRecordRow(selected: SelectedRecord): string {
  const { record } = selected
  const request = getRequestRecord(selected)
  return formatRow(
    record.time,
    `${record.chain}:${record.seq}`,
    record.kind,
    request?.principal?.name ?? '-',
    request?.operation ?? '-',
    formatIds(record.tables?.map(({ id }) => id) ?? (request?.id ? [request.id] : [])),
    'request' in record ? record.request : '-',
    formatResult(record),
  )
}

const widths = [24, 28, 8, 20, 26, 32, 36]

function formatRow(...cells: readonly string[]): string {
  return cells
    .map((cell, column) => printable(cell).padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()
}
