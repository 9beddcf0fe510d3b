import { getOperation } from '../../catalog-api/operations.ts'

/**
 * The operations that the gateway sends itself, for health checks, versions, tables, the console and `check --probe`. All
 * are reads.
 */
export const ownOperations = {
  countRows: getOperation('CountTableRows'),
  describeTable: getOperation('DescribeTable'),
  describeVersion: getOperation('DescribeTableVersion'),
  listNamespaces: getOperation('ListNamespaces'),
  listTables: getOperation('ListTables'),
  queryTable: getOperation('QueryTable'),
}
