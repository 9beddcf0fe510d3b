import type { OperationName, PermissionGroup } from '../../../catalog-api/operations.ts'
import { isExtraOperationName, type Permission } from '../../../catalog-api/permissions.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'

/** Groups whose effects stay in the namespace that a permission is granted on. */
const delegatedGroups: readonly PermissionGroup[] = ['browse', 'query', 'write', 'create', 'drop']

/**
 * The other operations whose effects stay there. Not among them: what attaches storage of others (RegisterTable,
 * ChooseLocation, ChooseStorage, CreateTableVersion), hands out credentials, or runs SQL or code that can read any table
 * (views, functions, virtual columns); and jobs, which are decided at the root. A batch is decided by its entries.
 */
const otherDelegatedOperations: readonly OperationName[] = [
  'AlterTableAddColumns',
  'AlterTableAlterColumns',
  'AlterTableDropColumns',
  'AlterTransaction',
  'BatchCommitTables',
  'BatchCreateTableVersions',
  'CreateTableBranch',
  'CreateTableIndex',
  'CreateTableScalarIndex',
  'CreateTableTag',
  'DeleteTableBranch',
  'DeleteTableTag',
  'DescribeFunction',
  'DescribeMaterializedView',
  'DescribeView',
  'DropFunction',
  'DropTableIndex',
  'ListFunctions',
  'RenameTable',
  'RestoreTable',
  'UpdateFieldMetadata',
  'UpdateTableSchemaMetadata',
  'UpdateTableTag',
]

/** Lists what delegated policies may allow. Extra operations are only among them if they are named as additional. */
export function listDelegatedPermissions(
  { permissions: { names, groups } }: PolicyVocabulary,
  additionalPermissions: readonly string[],
): ReadonlySet<Permission> {
  const inGroups = delegatedGroups.flatMap((group) => groups.get(group) ?? [])
  return new Set([
    ...inGroups.filter((permission) => !isExtraOperationName(permission)),
    ...otherDelegatedOperations,
    ...names.filter((name) => additionalPermissions.includes(name)),
  ])
}
