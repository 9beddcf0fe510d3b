import {
  formatIdentifierText,
  headerDialectNames,
  headerDialects,
  type Identifier,
  isWithin,
  openApiPath,
} from '../../catalog-api/index.ts'
import type { UpstreamSettings } from '../../config/index.ts'
import {
  openOwnClient,
  type OwnClient,
  ownOperations,
  readUpstreamOptions,
  upstreamBounds,
} from '../../gateway/index.ts'
import { getMembers, memoize, suggestSimilar, toError } from '../../lib/index.ts'
import { describeConnectFailure, type Outbound } from '../../outbound/index.ts'
import { listRowColumns, type PolicySet } from '../../policy/index.ts'
import { CommandFailure } from './command-failure.ts'
import type { Io } from './io.ts'

/**
 * Reads from each upstream, and prints to stderr how it responds, and which settings fit it better. Throws CommandFailure
 * with all upstreams that cannot be used, and all columns that restrictions name and tables do not have.
 */
export async function probeUpstreams(
  upstreams: readonly UpstreamSettings[],
  policies: PolicySet,
  outbound: Outbound,
  { stderr }: Io,
): Promise<void> {
  const failures: string[] = []
  for (const settings of upstreams) {
    const { name, url } = settings
    try {
      const client = openOwnClient(
        await readUpstreamOptions(settings, outbound),
        upstreamBounds.connectTimeoutMs,
      )
      try {
        const probe = await probeUpstream(client).catch((error: unknown) => {
          throw new Error(
            `the upstream ${name} (${url}) cannot be reached:\n  ${describeConnectFailure(error)}`,
            { cause: error },
          )
        })
        const problem = findProblem(settings, probe)
        if (problem !== undefined)
          throw new Error(`the upstream ${name} (${url}) cannot be used:\n  ${problem}`)
        stderr.write(describeProbe(settings, probe))
        const own = policies.documents.filter((one) => findUpstream(upstreams, one.namespace) === settings)
        const { problems, notes } = await findMissingColumns(client, own)
        for (const note of notes) stderr.write(`upstream ${name}: ${note}\n`)
        failures.push(...problems.map((text) => `upstream ${name}: ${text}`))
      } finally {
        client.close()
      }
    } catch (error) {
      failures.push(toError(error).message)
    }
  }
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'))
}

/** Returns the upstream of the tables in a namespace. */
function findUpstream(
  upstreams: readonly UpstreamSettings[],
  namespace: Identifier,
): UpstreamSettings | undefined {
  const getDepth = ({ namespaces = [[]] }: UpstreamSettings): number =>
    Math.max(-1, ...namespaces.filter((root) => isWithin(namespace, root)).map((root) => root.length))
  return upstreams.toSorted((one, other) => getDepth(other) - getDepth(one))[0]
}

function findProblem(
  { credential, identity }: UpstreamSettings,
  { status }: UpstreamProbe,
): string | undefined {
  const responded = `it responded to ListNamespaces with status ${status}`
  if (status === 401 || status === 403) {
    // Then it authenticates callers, of whom there is none.
    if (identity === 'original') return undefined
    return credential === undefined
      ? `${responded}; set \`credential\` if it requires one`
      : `${responded}; check its \`credential\``
  }
  if (status === 404 || status === 405 || status === 406) return `${responded}; check the path of its \`url\``
  return status >= 400 ? responded : undefined
}

function describeProbe({ name, url, headerDialect }: UpstreamSettings, probe: UpstreamProbe): string {
  const lines = [`upstream ${name} (${url}): status ${probe.status} in ${probe.durationMs} ms`]
  if (probe.headerDialect !== undefined && probe.headerDialect !== headerDialect) {
    const { location } = headerDialects[probe.headerDialect]
    lines.push(`its OpenAPI document names ${location}: set headerDialect: ${probe.headerDialect}`)
  }
  if (probe.headerDialect === undefined && headerDialect === 'catalog') {
    lines.push('its headers are unknown: set headerDialect: lance if it is a server of Lance')
  }
  return `${lines.join('\n  ')}\n`
}

type UpstreamProbe = Awaited<ReturnType<typeof probeUpstream>>

/** Reads from an upstream, and changes nothing. Rejects if it does not respond within its timeouts. */
async function probeUpstream(client: OwnClient) {
  const { healthCheckTimeoutMs } = upstreamBounds
  const startedAt = performance.now()
  const { status } = await client.probe(AbortSignal.timeout(healthCheckTimeoutMs))
  const durationMs = Math.round(performance.now() - startedAt)
  const document = await client.get(openApiPath, AbortSignal.timeout(healthCheckTimeoutMs))
  const text = document.status === 200 ? document.body.toString('utf8') : ''
  const headerDialect = headerDialectNames.find((name) => text.includes(headerDialects[name].location))
  // Undefined if it has no OpenAPI document that names headers.
  return { status, durationMs, headerDialect }
}

/**
 * Finds columns that `rows` of a restriction names and that the table at the upstream does not have, so that every read of
 * it is refused. Only tables with a name, no pattern, are described. Returns a sentence for each, or for a table that
 * cannot be described.
 */
async function findMissingColumns(client: OwnClient, documents: PolicySet['documents']) {
  const describe = memoize(async (...id: string[]) => {
    const body = { id, load_detailed_metadata: true }
    const { status, body: found } = await client.readJson({
      operation: ownOperations.describeTable,
      id,
      body,
    })
    return { status, columns: status === 200 ? listColumns(found) : undefined }
  })
  const problems: string[] = []
  const notes = new Set<string>()
  for (const { rule, id, named } of listReads(documents)) {
    const table = formatIdentifierText(id)
    const { status, columns } = await describe(...id)
    if (columns === undefined) {
      notes.add(`the columns of ${table} are unknown: DescribeTable got ${status}`)
      continue
    }
    const missing = [...named].filter((path) => !columns.includes(path.split('.')[0] ?? ''))
    problems.push(
      ...missing.map(
        (path) =>
          `${table} has no column "${path}", which \`rows\` of ${rule} names${suggestSimilar(path, columns)}`,
      ),
    )
  }
  return { problems, notes }
}

/** Returns the columns that `rows` of each rule names, for each table that the rule names. */
function listReads(documents: PolicySet['documents']) {
  return documents.flatMap(({ name, namespace, rules }) =>
    rules.flatMap(({ id, restriction, tables = [] }) => {
      if (restriction?.rows === undefined) return []
      const named = listRowColumns(restriction.rows)
      const exact = tables.filter((pattern) => !pattern.includes('*'))
      return exact.map((table) => ({ rule: `${name}/${id}`, id: [...namespace, table], named }))
    }),
  )
}

/** Returns the columns of a described table; undefined if the description has none. */
function listColumns(description: unknown): readonly string[] | undefined {
  const { fields } = getMembers(getMembers(description)['schema'])
  return Array.isArray(fields) ? fields.map((field) => String(getMembers(field)['name'])) : undefined
}
