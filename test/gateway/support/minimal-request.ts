import { getOperation, type OperationName } from '../../../src/catalog-api/operations.ts'

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
  const { methods, path, body } = getOperation(name)
  const method = methods.at(-1) ?? 'POST'
  return {
    method,
    path: path.replace('{id}', 'sales$orders').replace('{index_name}', 'by_day'),
    members: body === 'arrow' || method === 'GET' ? undefined : (members[name] ?? {}),
    query: name === 'MergeInsertIntoTable' ? 'on=id' : '',
  }
}
