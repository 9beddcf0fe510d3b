import type { IncomingHttpHeaders } from 'node:http'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import {
  clientDialectHeader,
  lancedbDatabaseHeader,
  lancedbServerHeader,
  lancedbServerVersion,
} from '../../catalog-api/headers.ts'
import type { OperationName } from '../../catalog-api/operations.ts'
import type { ResponseOf } from '../../catalog-api/schemas/operation-schemas.ts'
import type { RequestMembers } from '../contract/catalog.ts'
import type { SchemaDialect } from '../engine/schema/json-arrow-schema.ts'

/**
 * The dialect of the remote client of LanceDB (`connect("db://...")`), on the same routes. Whatever differs from
 * the interface for its sake differs here, besides spellings that every client may use (quoted modes, nulls,
 * bare vectors), which the schemas read.
 */
export interface ClientDialect {
  /** The vocabulary of the type names that DescribeTable answers. */
  readonly schemaDialect: SchemaDialect
  /** What every answer carries besides. */
  readonly responseHeaders: Readonly<Record<string, string>>
  readMembers(operation: OperationName, members: RequestMembers, headers: IncomingHttpHeaders): RequestMembers
  /** The answer of an operation as the client reads it. */
  writeResponse(operation: OperationName, result: unknown): unknown
  writeError(operation: OperationName | undefined, error: CatalogError): CatalogError
}

const catalogDialect: ClientDialect = {
  schemaDialect: 'namespace',
  responseHeaders: {},
  readMembers: (_operation, members) => members,
  writeResponse: (_operation, result) => result,
  writeError: (_operation, error) => error,
}

const lancedbDialect: ClientDialect = {
  schemaDialect: 'lance',
  responseHeaders: { [lancedbServerHeader]: lancedbServerVersion },
  readMembers(operation, members, headers) {
    // It needs version and schema of a table that it opens, and does not ask for them.
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
    // It reads the tags without a wrapping, and never asks for less than all.
    if (operation === 'ListTableTags') return (result as ResponseOf<'ListTableTags'>).tags
    if (operation === 'ListTableVersions') {
      // It cannot read a version without metadata.
      const { versions, ...rest } = result as ResponseOf<'ListTableVersions'>
      return { ...rest, versions: versions.map((version) => ({ metadata: {}, ...version })) }
    }
    if (operation !== 'UpdateTable') return result
    const response = result as ResponseOf<'UpdateTable'>
    return { ...response, rows_updated: response.updated_rows }
  },
  writeError(operation, error) {
    // It knows that a table is there by the status 400 and the words "already exists".
    if (operation !== 'CreateTable' || error.kind !== 'TableAlreadyExists') return error
    return new CatalogError('TableAlreadyExists', error.message, { status: 400, cause: error })
  },
}

/** The dialect in which a request is made: as a gateway in front says, or as the client shows by naming a database. */
export function clientDialectOf(headers: IncomingHttpHeaders): ClientDialect {
  const reported = headers[clientDialectHeader]
  const isLancedb = reported === undefined ? lancedbDatabaseHeader in headers : reported === 'lancedb'
  return isLancedb ? lancedbDialect : catalogDialect
}
