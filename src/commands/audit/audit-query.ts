import { join } from 'node:path'
import type { Command } from 'commander'
import {
  listSegments,
  type ObjectId,
  passThroughOperation,
  type RecordFilter,
  type SelectedRecord,
  type Selection,
  selectRecords,
} from '../../audit/index.ts'
import { findOperation, isOperationName, operationNames, permissionGroups } from '../../catalog-api/index.ts'
import type { GatewaySettings } from '../../config/index.ts'
import { suggestSimilar } from '../../lib/index.ts'
import { createSettingsVocabulary, loadPolicies, namePolicyFolders } from '../../policy/index.ts'
import {
  collect,
  parseIdArgument,
  parsePositiveInteger,
  parseTimeOrAge,
  readConfig,
} from '../common/arguments.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'
import { type Io, printLines } from '../common/io.ts'
import { LogProblems } from '../common/log-problems.ts'
import { formatExample, newCommand } from '../common/new-command.ts'
import { anySettings } from '../policy/policy-sources.ts'
import { folderArgument } from './audit-verify.ts'
import { createTableFormat, formatStory, type LocateRule, printable } from './format-records.ts'

interface QueryOptions extends Omit<Selection, 'object' | 'kinds'> {
  readonly table?: ObjectId
  readonly denied?: boolean
  readonly policies: readonly string[]
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

async function query(
  folder: string | undefined,
  { policies, config, json, table: object, denied, ...options }: QueryOptions,
  command: Command,
  io: Io,
): Promise<void> {
  const kinds = denied ? (['refusal'] as const) : undefined
  const selection = { ...options, object, kinds }
  const isStory = selection.request !== undefined && !json
  if (policies.length > 0 && !isStory)
    return command.error('error: expected --policies with --request and without --json')
  if (config === undefined && folder === undefined) return command.error('error: expected <dir> or --config')
  const settings = config === undefined ? undefined : await readConfig(config, io)
  const auditFolder = folder ?? settings?.audit.folder ?? ''
  const locate = isStory ? await openRuleLocator(policies, settings) : undefined
  const formatRow = createTableFormat()
  const format = (selected: SelectedRecord): readonly string[] => {
    if (isStory) return formatStory(selected, locate)
    return json ? [JSON.stringify(selected.record)] : formatRow(selected)
  }
  const problems = new LogProblems(io)
  let selected = 0
  async function* lines(): AsyncGenerator<string> {
    for await (const record of selectRecords(auditFolder, selection, problems.report)) {
      selected += 1
      yield* format(record)
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

/**
 * Reads the policies of the folders if some are given, otherwise those of the settings except for resources of Kubernetes.
 * Returns undefined without both.
 */
async function openRuleLocator(
  given: readonly string[],
  settings: GatewaySettings | undefined,
): Promise<LocateRule | undefined> {
  const vocabulary = settings === undefined ? anySettings : createSettingsVocabulary(settings)
  const paths = given.length === 0 ? settings?.policies.folder : given
  if (paths === undefined) return undefined
  const folders = namePolicyFolders(paths)
  const loaded = await runStep(`the policies in ${paths.join(' and ')} cannot be used`, () =>
    loadPolicies(paths, vocabulary),
  )
  const { revision } = loaded.set
  return (rule, recorded) => {
    const document = loaded.withShadowPolicies.documents.find(({ name }) => name === rule.policy)
    const found = document?.rules.find(({ id }) => id === rule.rule)
    const folder = folders.find(({ prefix }) => document?.file.startsWith(prefix))
    if (document === undefined || found === undefined || folder === undefined)
      return 'not in these policies: it was removed or renamed, or belongs to others'
    const note = recorded === revision ? '' : '; these policies are of another revision'
    return `${join(folder.path, document.file.slice(folder.prefix.length))}:${found.line}${note}`
  }
}
