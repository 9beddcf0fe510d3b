import type { Command } from 'commander'
import { clockToleranceMs, findUnexplained, type ListedVersion, RecordedVersions } from '../../audit/index.ts'
import { formatIdentifierText, type Identifier } from '../../catalog-api/index.ts'
import type { GatewaySettings } from '../../config/index.ts'
import {
  createUpstreams,
  listUpstreamTables,
  listUpstreamVersions,
  readUpstreamOptions,
  type Upstream,
  type Upstreams,
} from '../../gateway/index.ts'
import { formatCount, readOnce, toError } from '../../lib/index.ts'
import { openOutbound } from '../../outbound/index.ts'
import { parseIdArgument, parseTimeOrAge, readConfig } from '../common/arguments.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'
import { LogProblems } from '../common/log-problems.ts'
import { printLines, type Io } from '../common/io.ts'
import { formatExample, newCommand } from '../common/new-command.ts'
import { printable } from './format-records.ts'

interface CompareOptions {
  readonly config: string
  readonly namespace?: Identifier
  readonly since?: Date
  readonly json?: boolean
}

interface UnexplainedVersion extends ListedVersion {
  readonly upstream: string
  readonly id: Identifier
  readonly branch: string
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
    .action((folders: readonly string[], options: CompareOptions) => compare(folders, options, io))
}

async function compare(folders: readonly string[], options: CompareOptions, io: Io): Promise<void> {
  const { config, json } = options
  const settings = await readConfig(config, io)
  const { audit } = settings
  const logProblems = new LogProblems(io)
  const logs = folders.length > 0 ? folders : [audit.folder]
  const records = new RecordedVersions(logs, options.since, logProblems.report)
  await runStep('the audit log cannot be read', () => records.read())
  if (records.first === Infinity && options.since === undefined)
    throw new CommandFailure('there is no audit log with records')
  if (audit.mode === 'besteffort')
    io.stderr.write('with audit.mode: besteffort, the log may lack changes that this gateway has forwarded\n')
  const upstreams = await openUpstreams(settings, io)
  const comparison = new Comparison(upstreams, records, options)
  async function* lines(): AsyncGenerator<string> {
    for await (const found of comparison.run()) yield formatVersion(found, json)
  }
  try {
    await printLines(io, lines())
  } finally {
    upstreams.close()
  }
  const { tables, versions, unexplained, problems } = comparison
  io.stderr.write(`${formatCount(versions, 'version')} of ${formatCount(tables, 'table')} compared\n`)
  const failures = [
    ...(unexplained > 0 ? [`${formatCount(unexplained, 'version')} without a record that explains it`] : []),
    ...problems,
  ]
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'))
  logProblems.assertNone()
}

async function openUpstreams(settings: GatewaySettings, io: Io): Promise<Upstreams> {
  return runStep('the upstreams cannot be used', async () => {
    const outbound = await openOutbound(settings.outbound, io.environment, readOnce)
    const options = settings.upstreams.map((upstream) => readUpstreamOptions(upstream, outbound, readOnce))
    return createUpstreams(await Promise.all(options))
  })
}

/** Lists the tables of the upstreams, one request at a time. */
class Comparison {
  tables = 0
  versions = 0
  unexplained = 0
  /** Why not all tables were compared; the first few. */
  readonly problems: string[] = []
  readonly #upstreams: Upstreams
  readonly #records: RecordedVersions
  readonly #namespace: Identifier
  readonly #since: number

  constructor(upstreams: Upstreams, records: RecordedVersions, { namespace = [], since }: CompareOptions) {
    this.#upstreams = upstreams
    this.#records = records
    this.#namespace = namespace
    this.#since = since?.getTime() ?? records.first
  }

  async *run(): AsyncGenerator<UnexplainedVersion, void> {
    for (const upstream of this.#upstreams.all) {
      try {
        for await (const id of listUpstreamTables(upstream, this.#upstreams, this.#namespace)) {
          const found = await this.#compareTable(id, upstream)
          this.unexplained += found.length
          for (const version of found) yield { ...version, upstream: upstream.name, id }
        }
      } catch (error) {
        this.#addProblem(`the tables of the upstream ${upstream.name} cannot be listed`, error)
      }
    }
  }

  async #compareTable(
    id: Identifier,
    upstream: Upstream,
  ): Promise<(ListedVersion & { readonly branch: string })[]> {
    const found: (ListedVersion & { readonly branch: string })[] = []
    try {
      for await (const { branch, versions } of listUpstreamVersions(id, upstream.own)) {
        const unexplained = await this.#findUnexplained(id, branch, versions)
        found.push(...unexplained.map((version) => ({ ...version, branch })))
        this.versions += versions.length
      }
      this.tables += 1
    } catch (error) {
      this.#addProblem(`the versions of the table ${formatIdentifierText(id)} cannot be read`, error)
    }
    return found
  }

  async #findUnexplained(
    id: Identifier,
    branch: string,
    versions: readonly ListedVersion[],
  ): Promise<ListedVersion[]> {
    const found = findUnexplained(versions, this.#records.find(id, branch), this.#since)
    const oldest = this.#records.readAt - clockToleranceMs
    if (found.every(({ time }) => time !== undefined && time < oldest)) return found
    // They may have been recorded after the log was read.
    await this.#records.read()
    return findUnexplained(versions, this.#records.find(id, branch), this.#since)
  }

  #addProblem(what: string, error: unknown): void {
    if (this.problems.length < maxProblems) this.problems.push(`${what}: ${toError(error).message}`)
  }
}

const maxProblems = 10

function formatVersion(found: UnexplainedVersion, json = false): string {
  const { upstream, id, version } = found
  const branch = found.branch === '' ? 'main' : found.branch
  const time = found.time === undefined ? undefined : formatTime(found.time)
  if (json) return JSON.stringify({ upstream, id, branch, version, time })
  const table = formatIdentifierText(id)
  return printable(`${time ?? 'unknown time'}  ${table}  branch ${branch}  version ${version}`)
}

/** A catalog may state a time that no date can have. */
function formatTime(time: number): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString()
}
