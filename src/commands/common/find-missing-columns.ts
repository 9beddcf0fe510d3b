import { formatIdentifierText, type Identifier } from '../../catalog-api/index.ts'
import { openOwnClient, ownOperations, type UpstreamAccess, upstreamBounds } from '../../gateway/index.ts'
import { getMembers, suggestSimilar } from '../../lib/index.ts'
import { listRowColumns, type PolicySet } from '../../policy/index.ts'

/**
 * Finds columns that `rows` of a restriction names and that the table at the upstream does not have, so that every read of
 * it is refused. Only tables with a name, no pattern, are described. Returns a sentence for each, or for a table that
 * cannot be described.
 */
export async function findMissingColumns(
  upstream: UpstreamAccess,
  { documents }: PolicySet,
  isOfUpstream: (namespace: Identifier) => boolean,
): Promise<{ readonly problems: readonly string[]; readonly notes: readonly string[] }> {
  const client = openOwnClient(upstream, upstreamBounds.connectTimeoutMs)
  const problems: string[] = []
  const notes: string[] = []
  try {
    for (const document of documents.filter(({ namespace }) => isOfUpstream(namespace))) {
      for (const { id: ruleId, restriction, tables = [] } of document.rules) {
        if (restriction?.rows === undefined) continue
        const columns = [...listRowColumns(restriction.rows)]
        for (const table of tables.filter((pattern) => !pattern.includes('*'))) {
          const id = [...document.namespace, table]
          const request = {
            operation: ownOperations.describeTable,
            id,
            body: { id, load_detailed_metadata: true },
          }
          const { status, body } = await client.readJson(request)
          const names = status === 200 ? listColumns(body) : undefined
          if (names === undefined) {
            notes.push(`the columns of ${formatIdentifierText(id)} are unknown: DescribeTable got ${status}`)
            continue
          }
          for (const column of columns.filter((path) => !names.includes(path.split('.')[0] ?? '')))
            problems.push(
              `${formatIdentifierText(id)} has no column "${column}", which \`rows\` of ${document.name}/${ruleId} names${suggestSimilar(column, names)}`,
            )
        }
      }
    }
    return { problems, notes }
  } finally {
    client.close()
  }
}

/** Returns the columns of a described table; undefined if the description has none. */
function listColumns(description: unknown): readonly string[] | undefined {
  const { fields } = getMembers(getMembers(description)['schema'])
  return Array.isArray(fields) ? fields.map((field) => String(getMembers(field)['name'])) : undefined
}
