import { refusal, type CatalogError } from './catalog-error.ts'
import { assertIdentifier, type Identifier } from './identifiers.ts'
import { getOperation, type Operation } from './operations.ts'
import type { RouteMatch } from './request-target.ts'

/*
 * A database of LanceDB's clients is a namespace of the root. A client in a database sends ids that are relative to it.
 * Inside the gateway, and upstream, every id begins at the root.
 */

/**
 * Places a route in a database: its id then begins at the root. ListAllTables becomes the listing of the tables directly
 * in the database, as these clients expect. Throws InvalidInput (400) for an operation that databases do
 * not have.
 */
export function placeInDatabase(route: RouteMatch, database: Identifier): RouteMatch {
  const { operation, id } = route
  if (database.length === 0 || operation.namesJob) return route
  if (operation.lists === 'all tables')
    return { ...route, operation: getOperation('ListTables'), id: database }
  if (!isServedInDatabases(operation)) throw notInDatabaseError(operation.name)
  return { ...route, id: assertIdentifier([...database, ...id]) }
}

/** Lists of entries, SQL and code name objects that no rule of the gateway would place in the database. */
function isServedInDatabases({ object, effect, group }: Operation): boolean {
  // In the group admin they list definitions with SQL and code.
  if (object === 'namespace') return !(effect === 'read' && group === 'admin')
  return object === 'table'
}

/** The error for a request that may name objects of other databases. */
export function notInDatabaseError(what: string): CatalogError {
  return refusal(
    'not_in_database',
    `${what} is not accepted in a database, as it may name objects of others; send it without a database, and ids from the root`,
  )
}
