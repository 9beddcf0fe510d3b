import type { Identifier } from '../../../catalog-api/identifiers.ts'
import { isListOfStrings } from '../../../lib/json/is-list-of-strings.ts'
import { getMembers } from '../../../lib/json/is-object.ts'
import { parseJsonBytes } from '../../../lib/json/parse-json-bytes.ts'
import { restrictionsReaching } from '../../../policy/analysis/reaching-restrictions.ts'
import {
  createRuleReference,
  matchesAny,
  type DocumentIndex,
} from '../../../policy/analysis/reaching-rules.ts'
import { qualifiedRuleName } from '../../../policy/testing/decision-test.ts'
import { ownOperations } from '../own-operations.ts'
import type { UpstreamOptions } from '../upstream.ts'
import { openProbeClient, type ProbeClient } from './probe-client.ts'
import { probeTable, type DeclaredColumns, type TableProbe } from './probe-table.ts'

/** For a whole response: a count may read a whole table. */
const readTimeoutMs = 30_000

/** Further tables are not read. */
const maxTables = 50

/** The probe of a table that restrictions are for. */
interface RestrictedTableProbe extends TableProbe {
  readonly id: Identifier
}

/** The probes of all tables that were read. */
export interface RestrictionsProbe {
  readonly tables: readonly RestrictedTableProbe[]
  /** Whether there are more tables than were read. */
  readonly isCut: boolean
}

/**
 * Reads from each table that policies restrict in a namespace of the upstream, and changes nothing. See `probeTable`.
 */
export async function probeRestrictions(
  options: UpstreamOptions,
  policies: DocumentIndex,
  isOfUpstream: (namespace: Identifier) => boolean,
): Promise<RestrictionsProbe> {
  const client = openProbeClient(options, readTimeoutMs)
  try {
    const found = await listRestrictedTables(client, policies, isOfUpstream)
    const tables: RestrictedTableProbe[] = []
    for (const [namespace, table] of found.slice(0, maxTables)) {
      const id = [...namespace, table]
      const columns = listDeclaredColumns(policies, namespace, table)
      tables.push({ id, ...(await probeTable(client, id, columns, options.database !== undefined)) })
    }
    return { tables, isCut: found.length > maxTables }
  } finally {
    client.close()
  }
}

/** Returns the tables that restrictions name, and existing ones that match their patterns. */
async function listRestrictedTables(
  client: ProbeClient,
  policies: DocumentIndex,
  isOfUpstream: (namespace: Identifier) => boolean,
): Promise<readonly (readonly [namespace: Identifier, table: string])[]> {
  const found: (readonly [Identifier, string])[] = []
  for (const documents of policies.values()) {
    const namespace = documents[0]?.namespace ?? []
    const patterns = documents
      .flatMap(({ rules }) => rules)
      .flatMap(({ restriction, tables = [] }) => (restriction === undefined ? [] : tables))
    if (patterns.length === 0 || !isOfUpstream(namespace)) continue
    const named = patterns.filter((pattern) => !pattern.includes('*'))
    const existing = named.length === patterns.length ? [] : await listNames(client, namespace)
    const matching = existing.filter((name) => matchesAny(patterns, name))
    for (const table of new Set([...named, ...matching])) found.push([namespace, table])
  }
  return found
}

function listDeclaredColumns(
  policies: DocumentIndex,
  namespace: Identifier,
  table: string,
): readonly DeclaredColumns[] {
  return restrictionsReaching(policies, { namespace, table }, ownOperations.queryTable.name).map(
    (reaching) => ({
      name: qualifiedRuleName(createRuleReference(reaching)),
      columns: reaching.restriction.columns,
    }),
  )
}

async function listNames(client: ProbeClient, namespace: Identifier): Promise<readonly string[]> {
  const { status, body } = await client.call(ownOperations.listTables, namespace, {})
  const { tables } = getMembers(status === 200 ? parseJsonBytes(body) : undefined)
  return isListOfStrings(tables) ? tables : []
}
