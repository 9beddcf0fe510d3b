import { isOperationName, type Operation, type OperationName } from '../operations.ts'

/** Operations on the object that an operation creates, all by the id in its path. */
const nextOperations: Partial<Record<OperationName, readonly OperationName[]>> = {
  CreateNamespace: ['DescribeNamespace', 'ListNamespaces', 'ListTables', 'DropNamespace'],
  CreateTable: ['DescribeTable', 'CountTableRows', 'ListTableVersions', 'DropTable'],
  DeclareTable: ['DescribeTable', 'DeregisterTable', 'DropTable'],
  RegisterTable: ['DescribeTable', 'DeregisterTable'],
  CreateTableIndex: ['ListTableIndices'],
  CreateTableScalarIndex: ['ListTableIndices'],
  CreateTableTag: ['ListTableTags'],
  CreateTableBranch: ['ListTableBranches'],
  CreateMaterializedView: ['DescribeMaterializedView', 'RefreshMaterializedView', 'DropMaterializedView'],
  CreateView: ['DescribeView', 'DropView'],
}

const sameObject = { id: '$request.path.id', delimiter: '$request.query.delimiter' }

/** Links of a success of the operation to those that may follow, so that testers of APIs can make sequences of requests. */
export function describeLinks({ name, status, mayStartJob }: Operation): object | undefined {
  const nextNames = isOperationName(name) ? (nextOperations[name] ?? []) : []
  const links: (readonly [OperationName, object])[] = nextNames.map((next) => [
    next,
    { operationId: next, parameters: sameObject },
  ])
  if (status === 202 || mayStartJob) {
    const requestBody = { job_id: '$response.body#/job_id' }
    links.push(['DescribeJob', { operationId: 'DescribeJob', requestBody }])
  }
  return links.length === 0 ? undefined : Object.fromEntries(links)
}
