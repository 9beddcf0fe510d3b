import { getOperation } from '../../catalog-api/operations.ts'

/** The operations that the gateway sends itself, for health checks, versions, tables and the console. All are reads. */
export const ownOperations = {
  describeTable: getOperation('DescribeTable'),
  describeVersion: getOperation('DescribeTableVersion'),
  listNamespaces: getOperation('ListNamespaces'),
  listTables: getOperation('ListTables'),
}
