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
import type { SchemaDialect } from '../engine/schema/schema-json.ts'

/**
 * All deviations of LanceDB's remote client (`connect("db://...")`) from the catalog API are here, except spellings
 * that every client may use (quoted modes, nulls, bare vectors), which the schemas accept.
 */
export interface ClientDialect {
  readonly schemaDialect: SchemaDialect
  /** The operation that serves a request for `operation`. */
  servingOperation(operation: OperationName): OperationName
  /** Added to every response. */
  readonly responseHeaders: Readonly<Record<string, string>>
  readMembers(operation: OperationName, members: RequestMembers, headers: IncomingHttpHeaders): RequestMembers
  /** Converts the response of an operation to the form that the client reads. */
  writeResponse(operation: OperationName, result: unknown): unknown
  writeError(operation: OperationName | undefined, error: CatalogError): CatalogError
}

const catalogDialect: ClientDialect = {
  schemaDialect: 'namespace',
  servingOperation: (operation) => operation,
  responseHeaders: {},
  readMembers: (_operation, members) => members,
  writeResponse: (_operation, result) => result,
  writeError: (_operation, error) => error,
}

const lancedbDialect: ClientDialect = {
  schemaDialect: 'lance',
  // The client takes all tables for those in the root, and refuses the ids of others.
  servingOperation: (operation) => (operation === 'ListAllTables' ? 'ListTables' : operation),
  responseHeaders: { [lancedbServerHeader]: lancedbServerVersion },
  readMembers(operation, members, headers) {
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
  writeResponse(operation, result) {
    if (!isObject(result)) return result
    // The client expects the tags without an envelope, and never requests a page.
    if (operation === 'ListTableTags') return result['tags']
    const { versions } = result
    if (operation === 'ListTableVersions' && Array.isArray(versions)) {
      return { ...result, versions: versions.map(completeVersion) }
    }
    if (operation === 'UpdateTable') {
      // From 0.41 on, the client reads either name, and fails if both are there.
      const { updated_rows: rows_updated, ...rest } = result
      return { ...rest, rows_updated }
    }
    return result
  },
  writeError(operation, error) {
    // The client detects an existing table by status 400 and the words "already exists".
    if (operation !== 'CreateTable' || error.kind !== 'TableAlreadyExists') return error
    return new CatalogError('TableAlreadyExists', error.message, { status: 400, cause: error })
  },
}

/** The client cannot parse a version without metadata, and before 0.40 none without the text of its time. */
function completeVersion(version: unknown): RequestMembers {
  const members = getMembers(version)
  const time = new Date(Number(members['timestamp_millis'] ?? Number.NaN))
  const timestamp = Number.isNaN(time.getTime()) ? {} : { timestamp: time.toISOString() }
  return { metadata: {}, ...timestamp, ...members }
}

/** Selects the dialect of a request: as declared by a gateway in front, or LanceDB's if the client names a database. */
export function selectClientDialect(headers: IncomingHttpHeaders): ClientDialect {
  return isLancedbClient(headers[clientDialectHeader], lancedbDatabaseHeader in headers)
    ? lancedbDialect
    : catalogDialect
}
