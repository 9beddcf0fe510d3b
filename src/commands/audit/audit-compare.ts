import type { Command } from 'commander'
import {
  clockToleranceMs,
  type Comparison,
  createRecordedVersions,
  findUnexplained,
  type ListedVersion,
  type RecordedVersions,
  saveComparison,
} from '../../audit/index.ts'
import { formatIdentifierText, type Identifier } from '../../catalog-api/index.ts'
import type { GatewaySettings } from '../../config/index.ts'
import {
  createUpstreams,
  listUpstreamTables,
  listUpstreamVersions,
  readUpstreamOptions,
  type Upstreams,
} from '../../gateway/index.ts'
import { formatCount, readOnce, toError } from '../../lib/index.ts'
import { openOutbound } from '../../outbound/index.ts'
import { parseIdArgument, parseTimeOrAge, readConfig } from '../common/arguments.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'
import { createLogProblems } from '../common/log-problems.ts'
import { printLines, type Io } from '../common/io.ts'
import { formatExample, newCommand } from '../common/new-command.ts'
import { printable } from './format-records.ts'

interface CompareOptions {
  readonly config: string
  readonly namespace?: Identifier
  readonly since?: Date
  readonly json?: boolean
}

interface BranchVersion extends ListedVersion {
  readonly id: Identifier
  readonly branch: string
}

interface UnexplainedVersion extends BranchVersion {
  readonly upstream: string
}

export function compareCommand(io: Io): Command {
  return newCommand('compare', io)
    .description('list the table versions of the upstreams that no record of the audit log explains')
    .argument(
      '[dirs...]',
      'the folders of the audit logs of all gateways in front of these upstreams; default: that of --config',
    )
    .requiredOption('--config <file>', 'settings file (YAML): the upstreams, and the audit folder')
    .option('--namespace <id>', 'only tables in this namespace and beneath', parseIdArgument)
    .option(
      '--since <time>',
      'only versions from this time on, such as 2027-01-31T00:00:00Z or 1d; default: the first record',
      parseTimeOrAge,
    )
    .option('--json', 'print JSON lines')
    .addHelpText('after', formatExample('catalog-gateway audit compare --config gateway.yaml --since 2d'))
    .addHelpText('after', '\nThe exit status is 1 if there are such versions, or if tables cannot be read.')
    .addHelpText(
      'after',
      'The console shows the last result without --namespace, which is kept in the audit folder of --config.',
    )
    .action((folders: readonly string[], options: CompareOptions) => compare(folders, options, io))
}

async function compare(folders: readonly string[], options: CompareOptions, io: Io): Promise<void> {
  const { config, json, namespace, since } = options
  const settings = await readConfig(config, io)
  const { audit } = settings
  const logProblems = createLogProblems(io)
  const logs = folders.length > 0 ? folders : [audit.folder]
  const records = createRecordedVersions(logs, options.since, logProblems.report)
  await runStep('the audit log cannot be read', () => records.read())
  if (records.first() === Infinity && options.since === undefined)
    throw new CommandFailure('there is no audit log with records')
  if (audit.mode === 'besteffort')
    io.stderr.write('with audit.mode: besteffort, the log may lack changes that this gateway has forwarded\n')
  const upstreams = await openUpstreams(settings, io)
  const time = new Date().toISOString()
  const summary: Summary = { tables: 0, versions: 0, unexplained: 0, found: [], problems: [] }
  async function* lines(): AsyncGenerator<string> {
    for await (const found of compareTables(upstreams, records, options, summary))
      yield formatVersion(found, json)
  }
  try {
    const isPrinted = await printLines(io, lines())
    const scope = since && { since: since.toISOString() }
    // A look at some tables says nothing about the others.
    if (isPrinted && namespace === undefined)
      await saveResult(audit.folder, { time, ...scope, ...summary }, io)
  } finally {
    upstreams.close()
  }
  const { tables, versions, unexplained, problems } = summary
  io.stderr.write(`${formatCount(versions, 'version')} of ${formatCount(tables, 'table')} compared\n`)
  const failures = [
    ...(unexplained > 0 ? [`${formatCount(unexplained, 'version')} without a record that explains it`] : []),
    ...problems,
    ...(namespace && tables + problems.length === 0
      ? [`no table is beneath ${formatIdentifierText(namespace)}; expected a namespace`]
      : []),
  ]
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'))
  logProblems.assertNone()
}

async function saveResult(folder: string, result: Comparison, io: Io): Promise<void> {
  try {
    await saveComparison(folder, result)
  } catch {
    // A CronJob may read the log from a volume that it cannot write.
    io.stderr.write('the console will not show this result: the audit folder cannot be written\n')
  }
}

async function openUpstreams(settings: GatewaySettings, io: Io): Promise<Upstreams> {
  return runStep('the upstreams cannot be used', async () => {
    const outbound = await openOutbound(settings.outbound, io.environment, readOnce)
    const options = settings.upstreams.map((upstream) => readUpstreamOptions(upstream, outbound))
    return createUpstreams(await Promise.all(options))
  })
}

type Summary = Omit<Comparison, 'time' | 'since'>

const maxFound = 100
const maxProblems = 10

/** Lists the tables of the upstreams, one request at a time. */
async function* compareTables(
  upstreams: Upstreams,
  records: RecordedVersions,
  { namespace = [], since }: CompareOptions,
  summary: Summary,
): AsyncGenerator<UnexplainedVersion, void> {
  const begin = since?.getTime() ?? records.first()
  const addProblem = (what: string, error: unknown): void => {
    if (summary.problems.length < maxProblems) summary.problems.push(`${what}: ${toError(error).message}`)
  }
  for (const upstream of upstreams.all) {
    try {
      for await (const id of listUpstreamTables(upstream, upstreams, namespace)) {
        const found: BranchVersion[] = []
        try {
          for await (const { branch, versions } of listUpstreamVersions(id, upstream.own)) {
            const unexplained = await compareBranch(id, branch, versions, records, begin)
            found.push(...unexplained.map((version) => ({ ...version, id, branch })))
            summary.versions += versions.length
          }
          summary.tables += 1
        } catch (error) {
          addProblem(`the versions of the table ${formatIdentifierText(id)} cannot be read`, error)
        }
        summary.unexplained += found.length
        const named = found.slice(0, maxFound - summary.found.length)
        summary.found.push(
          ...named.map((version) => ({ ...version, id: [...id], time: formatTime(version) })),
        )
        for (const version of found) yield { ...version, upstream: upstream.name }
      }
    } catch (error) {
      addProblem(`the tables of the upstream ${upstream.name} cannot be listed`, error)
    }
  }
}

async function compareBranch(
  id: Identifier,
  branch: string,
  versions: readonly ListedVersion[],
  records: RecordedVersions,
  since: number,
): Promise<readonly ListedVersion[]> {
  const found = findUnexplained(versions, records.find(id, branch), since)
  const oldest = records.readAt() - clockToleranceMs
  if (found.every(({ time }) => time !== undefined && time < oldest)) return found
  // They may have been recorded after the log was read.
  await records.read()
  return findUnexplained(versions, records.find(id, branch), since)
}

function formatVersion(found: UnexplainedVersion, json = false): string {
  const { upstream, id, version } = found
  const branch = found.branch === '' ? 'main' : found.branch
  const time = formatTime(found)
  if (json) return JSON.stringify({ upstream, id, branch, version, time })
  const table = formatIdentifierText(id)
  return printable(`${time ?? 'unknown time'}  ${table}  branch ${branch}  version ${version}`)
}

/** A catalog may state a time that no date can have, or none. */
function formatTime({ time }: ListedVersion): string | undefined {
  if (time === undefined) return undefined
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString()
}
