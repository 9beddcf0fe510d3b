import { getOperation } from '../../catalog-api/operations.ts'

/**
 * The operations that the gateway sends itself, for health checks, the console, `check --probe` and `audit compare`. All
 * are reads.
 */
export const ownOperations = {
  countRows: getOperation('CountTableRows'),
  describeTable: getOperation('DescribeTable'),
  describeVersion: getOperation('DescribeTableVersion'),
  listNamespaces: getOperation('ListNamespaces'),
  listBranches: getOperation('ListTableBranches'),
  listTables: getOperation('ListTables'),
  listVersions: getOperation('ListTableVersions'),
  queryTable: getOperation('QueryTable'),
}
