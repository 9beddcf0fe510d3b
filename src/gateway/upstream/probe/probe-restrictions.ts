import type { Identifier } from '../../../catalog-api/identifiers.ts'
import { isListOfStrings } from '../../../lib/json/is-list-of-strings.ts'
import { getMembers } from '../../../lib/json/is-object.ts'
import { parseJsonBytes } from '../../../lib/json/parse-json-bytes.ts'
import type { ListedRestriction } from '../../../policy/analysis/list-restrictions.ts'
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

/** Reads from each table of an upstream that restrictions are for, and changes nothing. See `probeTable`. */
export async function probeRestrictions(
  options: UpstreamOptions,
  restrictions: readonly ListedRestriction[],
): Promise<RestrictionsProbe> {
  const client = openProbeClient(options, readTimeoutMs)
  try {
    const found = await listTables(client, restrictions)
    const tables: RestrictedTableProbe[] = []
    for (const [id, its] of [...found.values()].slice(0, maxTables))
      tables.push({ id, ...(await probeTable(client, id, its, options.database !== undefined)) })
    return { tables, isCut: found.size > maxTables }
  } finally {
    client.close()
  }
}

type Restricted = readonly [Identifier, readonly DeclaredColumns[]]

/** Returns tables with the restrictions that are for them: those that are named, and existing ones that match a pattern. */
async function listTables(
  client: ProbeClient,
  restrictions: readonly ListedRestriction[],
): Promise<ReadonlyMap<string, Restricted>> {
  const found = new Map<string, Restricted>()
  for (const { namespace, tables, hasPatterns, covers } of restrictions) {
    const matching = hasPatterns ? (await listNames(client, namespace)).filter(covers) : []
    for (const table of new Set([...tables, ...matching])) {
      const id = [...namespace, table]
      const its = restrictions.filter(
        (other) => JSON.stringify(other.namespace) === JSON.stringify(namespace) && other.covers(table),
      )
      const declared = its.map(({ name, resolveColumns }) => ({ name, columns: resolveColumns(table) }))
      found.set(JSON.stringify(id), [id, declared])
    }
  }
  return found
}

async function listNames(client: ProbeClient, namespace: Identifier): Promise<readonly string[]> {
  const { status, body } = await client.call(ownOperations.listTables, namespace, {})
  const { tables } = getMembers(status === 200 ? parseJsonBytes(body) : undefined)
  return isListOfStrings(tables) ? tables : []
}
