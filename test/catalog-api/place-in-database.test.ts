import { expect, it } from 'vitest'
import { CatalogError } from '../../src/catalog-api/catalog-error.ts'
import { isWithin } from '../../src/catalog-api/identifiers.ts'
import { getOperation, operationNames, type OperationName } from '../../src/catalog-api/operations.ts'
import { placeInDatabase } from '../../src/catalog-api/place-in-database.ts'
import type { RouteMatch } from '../../src/catalog-api/request-target.ts'

const database = ['x1']
/** They name objects in entries, grants, SQL or code, or return such definitions. */
const refused: readonly OperationName[] = [
  'BatchCreateTableVersions',
  'BatchCommitTables',
  'DescribeTransaction',
  'AlterTransaction',
  'RefreshMaterializedView',
  'CreateMaterializedView',
  'DescribeMaterializedView',
  'DropMaterializedView',
  'CreateView',
  'DescribeView',
  'DropView',
  'CreateFunction',
  'DescribeFunction',
  'DropFunction',
  'ListFunctions',
  'CreateSecret',
  'AlterSecret',
  'DescribeSecret',
  'DropSecret',
  'ListSecrets',
  'ListJobs',
  'ListGrants',
  'AddGrant',
  'DeleteGrant',
  'ListRoleBindings',
  'AddRoleBinding',
  'DeleteRoleBinding',
  'DescribePrincipal',
  'DescribeGroup',
]
/** They name a job, whose id is checked when it is opened. */
const onJobs: readonly OperationName[] = [
  'DescribeJob',
  'CancelJob',
  'PauseJob',
  'ResumeJob',
  'QueryJobEvents',
]

function routeOf(name: OperationName): RouteMatch {
  const operation = getOperation(name)
  const id = operation.object === 'none' ? [] : ['n', 't']
  return { operation, id, delimiter: '$', indexName: undefined, parameters: new Map() }
}

it.each(operationNames)('%s stays in the database, or is refused', (name) => {
  const route = routeOf(name)
  const place = (): RouteMatch => placeInDatabase(route, database)
  if (refused.includes(name)) {
    expect(place).toThrow(CatalogError)
    expect(place).toThrow(expect.objectContaining({ reason: 'not_in_database', status: 400 }) as Error)
    return
  }
  if (onJobs.includes(name)) {
    expect(place()).toBe(route)
    return
  }
  const placed = place()
  expect(isWithin(placed.id, database)).toBe(true)
  expect(placed.id.slice(1)).toEqual(route.id)
  expect(placed.operation.name).toBe(name === 'ListAllTables' ? 'ListTables' : name)
})

it.each(operationNames)('%s is the same in the root', (name) => {
  const route = routeOf(name)
  expect(placeInDatabase(route, [])).toBe(route)
})

it('an id that is too long with its database is refused', () => {
  const id = Array.from({ length: 64 }, () => 'n')
  const route = { ...routeOf('DescribeTable'), id }
  expect(placeInDatabase(route, [])).toBe(route)
  expect(() => placeInDatabase(route, database)).toThrow('at most 64')
})
