import type { IncomingHttpHeaders } from 'node:http'
import {
  CatalogError,
  clientDialectHeader,
  isLancedbClient,
  lancedbDatabaseHeader,
  lancedbServerHeader,
  lancedbServerVersion,
  type OperationName,
} from 'catalog-gateway/catalog-api'
import { getMembers, isObject } from 'catalog-gateway/lib'
import type { RequestMembers } from '../catalog/operations.ts'

/**
 * All deviations of LanceDB's remote client (`connect("db://...")`) from the catalog API are here, except spellings
 * that every client may use (quoted modes, nulls, bare vectors), which the schemas accept.
 */
const lancedbDialect = {
  schemaDialect: 'lance',
  /** The operation that serves a request. The client takes all tables for those in the root, and refuses the ids of others. */
  servingOperation: (operation: OperationName) => (operation === 'ListAllTables' ? 'ListTables' : operation),
  /** Added to every response. */
  responseHeaders: { [lancedbServerHeader]: lancedbServerVersion },
  readMembers(
    operation: OperationName,
    members: RequestMembers,
    headers: IncomingHttpHeaders,
  ): RequestMembers {
    // The client needs version and schema of a table that it opens, but does not request them.
    if (operation === 'DescribeTable') return { ...members, load_detailed_metadata: true }
    if (operation === 'RenameTable') {
      return { ...members, new_namespace_id: members['new_namespace_id'] ?? members['new_namespace'] }
    }
    if (operation === 'CreateTableIndex') {
      return { ...members, distance_type: members['distance_type'] ?? members['metric_type'] }
    }
    const timeout = headers['x-request-timeout-ms']
    if (operation === 'MergeInsertIntoTable' && timeout !== undefined) {
      return { ...members, timeout: members['timeout'] ?? `${String(timeout)}ms` }
    }
    return members
  },
  /** Converts the response of an operation to the form that the client reads. */
  writeResponse(operation: OperationName, result: unknown): unknown {
    if (!isObject(result)) return result
    // The client expects the tags without an envelope, and never requests a page.
    if (operation === 'ListTableTags') return result['tags']
    const { versions } = result
    if (operation === 'ListTableVersions' && Array.isArray(versions)) {
      // The client cannot parse a version without metadata.
      return { ...result, versions: versions.map((version) => ({ metadata: {}, ...getMembers(version) })) }
    }
    if (operation === 'UpdateTable') {
      // From 0.41 on, the client reads either name, and fails if both are there.
      const { updated_rows: rows_updated, ...rest } = result
      return { ...rest, rows_updated }
    }
    return result
  },
  writeError(operation: OperationName | undefined, error: CatalogError): CatalogError {
    // The client detects an existing table by status 400 and the words "already exists".
    if (operation !== 'CreateTable' || error.kind !== 'TableAlreadyExists') return error
    return new CatalogError('TableAlreadyExists', error.message, { status: 400, cause: error })
  },
} as const

export type ClientDialect = typeof lancedbDialect

/**
 * The dialect of a request: LanceDB's if a gateway in front declares it, or if the client names a database; undefined for
 * that of the catalog API.
 */
export function selectClientDialect(headers: IncomingHttpHeaders): ClientDialect | undefined {
  const isLancedb = isLancedbClient(headers[clientDialectHeader], lancedbDatabaseHeader in headers)
  return isLancedb ? lancedbDialect : undefined
}
