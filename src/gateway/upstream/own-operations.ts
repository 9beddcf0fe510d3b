import { getOperation } from '../../catalog-api/operations.ts'

/** The operations that the gateway sends itself, for health checks, versions and tables. All are reads. */
export const ownOperations = {
  describeTable: getOperation('DescribeTable'),
  describeVersion: getOperation('DescribeTableVersion'),
  listNamespaces: getOperation('ListNamespaces'),
  listTables: getOperation('ListTables'),
}
