import { getKeys } from '../../lib/get-keys.ts'
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

/** Operations on a part of the object, by the member of the body that names the part in both. */
const nextByMember: Partial<Record<OperationName, { member: string; next: readonly OperationName[] }>> = {
  CreateTableTag: { member: 'tag', next: ['GetTableTagVersion', 'UpdateTableTag', 'DeleteTableTag'] },
  CreateTableBranch: { member: 'name', next: ['DeleteTableBranch'] },
}

/**
 * Operations on the first table of a listing. It needs no id, so a tester can start with it: an operation whose id no
 * response contains is seldom a start.
 */
const ofListedTable = [
  'DescribeTable',
  'CountTableRows',
  'GetTableStats',
  'ListTableVersions',
  'ListTableIndices',
  'CreateTableTag',
  'CreateTableBranch',
  'CreateTableScalarIndex',
  'DropTable',
] as const satisfies readonly OperationName[]

const delimiter = '$request.query.delimiter'
const sameObject = { id: '$request.path.id', delimiter }
const listedTable = { id: '$response.body#/tables/0', delimiter }

/** Links of a success of the operation to those that may follow, so that testers of APIs can make sequences of requests. */
export function describeLinks({ name, status, mayStartJob }: Operation): object | undefined {
  if (!isOperationName(name)) return undefined
  const links: Partial<Record<OperationName, object>> = {}
  for (const next of nextOperations[name] ?? []) links[next] = { operationId: next, parameters: sameObject }
  const { member = '', next: nextOfPart = [] } = nextByMember[name] ?? {}
  for (const next of nextOfPart) {
    const requestBody = { [member]: `$request.body#/${member}` }
    links[next] = { operationId: next, parameters: sameObject, requestBody }
  }
  if (name === 'ListAllTables')
    for (const next of ofListedTable) links[next] = { operationId: next, parameters: listedTable }
  if (status === 202 || mayStartJob)
    links.DescribeJob = { operationId: 'DescribeJob', requestBody: { job_id: '$response.body#/job_id' } }
  return getKeys(links).length === 0 ? undefined : links
}
