import { getOperation, type OperationName } from '../../../src/catalog-api/operations.ts'
import { respondWith } from './recording-upstream.ts'
import type { GatewayAndUpstream } from './running-gateway.ts'

/** Members that the gateway requires. */
const members: Partial<Record<OperationName, object>> = {
  RenameTable: { new_table_name: 'archive' },
  RegisterTable: { location: 'sales/orders' },
  CreateTableVersion: { manifest_path: 'sales/orders/_versions/staging' },
  BatchCreateTableVersions: {
    entries: [{ id: ['sales', 'orders'], version: 2, manifest_path: 'sales/orders/_versions/staging' }],
  },
  BatchCommitTables: { operations: [{ deregister_table: { id: ['sales', 'orders'] } }] },
  UpdateTableSchemaMetadata: { owner: 'sales' },
}

/** Parameters that the gateway requires; the id of a multipart write is none that it has sealed. */
const queries: Partial<Record<OperationName, string>> = {
  MergeInsertIntoTable: 'on=id',
  CompleteMultipartWrite: 'upload_id=upload',
  AbortMultipartWrite: 'upload_id=upload',
}

/** A request of an operation with required members only. */
export interface MinimalRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Undefined for an operation with an Arrow stream or without a body. */
  readonly members: object | undefined
  readonly query: string
}

/** Creates the minimal request of an operation on the table `sales$orders`, or its namespace. */
export function createMinimalRequest(name: OperationName): MinimalRequest {
  const { methods, path, body, object } = getOperation(name)
  const method = methods.includes('POST') ? 'POST' : 'GET'
  return {
    method,
    path: path
      .replace('{id}', () => (object === 'transaction' ? 'sales$orders$7' : 'sales$orders'))
      .replace('{index_name}', 'by_day')
      .replace('{column}', 'image')
      .replace('{row_id}', '7'),
    members: body === 'arrow' || method === 'GET' ? undefined : (members[name] ?? {}),
    query: queries[name] ?? '',
  }
}

/** Returns the query of the minimal request with the id of a multipart write that the caller has begun, if it names one. */
export async function createAcceptedQuery(
  name: OperationName,
  { gateway, upstream }: GatewayAndUpstream,
  as = 'dev',
): Promise<string> {
  if (getOperation(name).multipart !== 'names') return createMinimalRequest(name).query
  upstream.handler = respondWith(200, { upload_id: 'upload' })
  const created = await gateway.post(createMinimalRequest('CreateMultipartWrite').path, { as })
  upstream.requests.length = 0
  return `upload_id=${encodeURIComponent((created.json as { upload_id: string }).upload_id)}`
}
