import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { buildTarget } from '../../catalog-api/request-target.ts'
import { getMembers } from '../../lib/json/is-object.ts'
import { isListOfStrings } from '../../lib/json/is-list-of-strings.ts'
import { ownOperations } from './own-operations.ts'

/**
 * Whether clients commit through the catalog (`managed`), or write versions to the storage past it and the gateway
 * (`unmanaged`). Unknown if no table was found that could be described.
 */
export type ManagedVersions = 'managed' | 'unmanaged' | 'unknown'

/** Sends a request to a catalog; resolves with the JSON of a success, or undefined. */
export type ReadCatalog = (method: 'GET' | 'POST', target: string, body: Buffer | null) => Promise<unknown>

/** Bounds the search for a table. */
const maxNamespaces = 10

/** Describes the first table in one of the namespaces, or in those directly in them. Reads only. */
export async function findManagedVersions(
  read: ReadCatalog,
  delimiter: string,
  namespaces: readonly Identifier[] = [[]],
): Promise<ManagedVersions> {
  const request = async (operation: Operation, id: Identifier, limit?: number): Promise<unknown> => {
    const parameters = new Map(limit === undefined ? [] : [['limit', String(limit)]])
    const target = buildTarget({ operation, id, delimiter, indexName: undefined, parameters }, delimiter)
    return read(
      operation.method,
      target,
      operation.body === 'json' ? Buffer.from(JSON.stringify({ id })) : null,
    )
  }
  const list = async (member: 'tables' | 'namespaces', id: Identifier, limit: number) => {
    const operation = member === 'tables' ? ownOperations.listTables : ownOperations.listNamespaces
    const names = getMembers(await request(operation, id, limit))[member]
    return isListOfStrings(names) ? names.map((last) => [...id, last]) : []
  }
  const describe = async (namespace: Identifier): Promise<ManagedVersions> => {
    const [table] = await list('tables', namespace, 1)
    return table === undefined
      ? 'unknown'
      : readManagedVersions(await request(ownOperations.describeTable, table))
  }
  for (const namespace of namespaces.slice(0, maxNamespaces)) {
    const found = await describe(namespace)
    if (found !== 'unknown') return found
    for (const child of (await list('namespaces', namespace, maxNamespaces)).slice(0, maxNamespaces)) {
      const foundInChild = await describe(child)
      if (foundInChild !== 'unknown') return foundInChild
    }
  }
  return 'unknown'
}

/** Reads it from the response to DescribeTable or DeclareTable. */
export function readManagedVersions(response: unknown): ManagedVersions {
  const { location, managed_versioning: managed } = getMembers(response)
  if (typeof location !== 'string' && managed === undefined) return 'unknown'
  return managed === true ? 'managed' : 'unmanaged'
}
