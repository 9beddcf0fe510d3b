import { isOperationName, type Operation, type OperationName } from '../operations.ts'

/** Operations on the object of the id in the path. */
const nextOperations: Partial<Record<OperationName, readonly OperationName[]>> = {
  CreateNamespace: ['DescribeNamespace', 'ListNamespaces', 'ListTables', 'DropNamespace'],
  DropNamespace: ['CreateNamespace'],
  CreateTable: ['DescribeTable', 'CountTableRows', 'ListTableVersions', 'DropTable'],
  DeclareTable: ['DescribeTable', 'DeregisterTable', 'DropTable'],
  RegisterTable: ['DescribeTable', 'DeregisterTable'],
  DropTable: ['CreateTable', 'DeclareTable'],
  CreateTableIndex: ['ListTableIndices'],
  CreateTableScalarIndex: ['ListTableIndices'],
  CreateTableTag: ['ListTableTags'],
  CreateTableBranch: ['ListTableBranches'],
  CreateMaterializedView: ['DescribeMaterializedView', 'RefreshMaterializedView', 'DropMaterializedView'],
  CreateView: ['DescribeView', 'DropView'],
}

/**
 * Operations on the first table of a listing. It needs no id, so a tester can start with it: an operation whose id no
 * response contains is seldom a start.
 */
const ofListedTable: readonly OperationName[] = [
  'DescribeTable',
  'CountTableRows',
  'GetTableStats',
  'ListTableVersions',
  'ListTableIndices',
  'CreateTableTag',
  'CreateTableBranch',
  'CreateTableScalarIndex',
  'DropTable',
]

const delimiter = '$request.query.delimiter'
const sameObject = { id: '$request.path.id', delimiter }
const listedTable = { id: '$response.body#/tables/0', delimiter }

/**
 * Links of a success of the operation to those that may follow, so that testers of APIs can make sequences of requests. No
 * link has a request body: the OpenAPI Generator refuses a document in which it is an object, as the body of DescribeJob is.
 */
export function describeLinks({ name }: Operation): object | undefined {
  if (!isOperationName(name)) return undefined
  const nextNames = nextOperations[name]
  if (nextNames !== undefined) return linksTo(nextNames, sameObject)
  return name === 'ListAllTables' ? linksTo(ofListedTable, listedTable) : undefined
}

function linksTo(names: readonly OperationName[], parameters: Readonly<Record<string, string>>): object {
  return Object.fromEntries(names.map((name) => [name, { operationId: name, parameters }]))
}
