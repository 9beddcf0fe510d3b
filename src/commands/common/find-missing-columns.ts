import { formatIdentifierText, type Identifier } from '../../catalog-api/index.ts'
import { openOwnClient, ownOperations, type UpstreamAccess, upstreamBounds } from '../../gateway/index.ts'
import { getMembers, memoize, suggestSimilar } from '../../lib/index.ts'
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
  try {
    for (const { rule, id, named } of listReads(documents.filter((one) => isOfUpstream(one.namespace)))) {
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
    return { problems, notes: [...notes] }
  } finally {
    client.close()
  }
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
