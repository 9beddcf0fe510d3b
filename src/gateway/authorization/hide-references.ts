import { CatalogError, type ErrorName } from '../../catalog-api/catalog-error.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { findOperation, type Operation } from '../../catalog-api/operations.ts'
import { noFacts, type RequestFacts } from '../../policy/conditions/authorization-request.ts'
import type { PolicySet } from '../../policy/policy-set.ts'
import type { Authenticated } from '../context.ts'
import type { PermissionDecision } from './required-permission.ts'

const messagesWithoutNames: Partial<Record<ErrorName, string>> = {
  TableTagNotFound: 'the table has no such tag',
  TableTagAlreadyExists: 'the tag already exists',
  TableBranchNotFound: 'the table has no such branch',
  TableBranchAlreadyExists: 'the branch already exists',
}

/** A request with the policies that allowed it. */
interface PermittedRequest extends Authenticated {
  readonly permit: {
    readonly policies: PolicySet
    readonly facts: RequestFacts
    readonly decisions: readonly PermissionDecision[]
  }
}

/**
 * Removes the names of tags and branches from an upstream error if the caller may not list those of every table of the
 * request: catalogs name other tags and branches in their messages, for example the tags that prevent the deletion of a
 * branch.
 */
export function hideReferences(error: CatalogError, request: PermittedRequest): CatalogError {
  const { principal, permit } = request
  const { facts, policies } = permit
  const message = messagesWithoutNames[error.kind]
  const isHidden = listTables(request).some(({ operation, id }) => {
    if (message === undefined && !concernsReferences(operation)) return false
    const table = { permission: operation.name, kind: operation.object, id }
    return !policies.canListReferences({ ...table, principal, request: facts, operation: noFacts })
  })
  if (!isHidden) return error
  return new CatalogError(
    error.kind,
    message ?? `the upstream refused the request with status ${error.status}`,
    {
      status: error.status,
      headers: error.headers,
    },
  )
}

interface NamedTable {
  readonly operation: Operation
  readonly id: Identifier
}

/** The table of the route and those of the entries of a batch, with what is done to them. */
function listTables({ route, permit }: PermittedRequest): readonly NamedTable[] {
  const ofEntries = permit.decisions.flatMap(({ requiredPermission: { entry, permission, id } }) => {
    const operation = entry && findOperation(permission)
    return operation === undefined ? [] : [{ operation, id }]
  })
  return [route, ...ofEntries].filter(({ operation }) => operation.object === 'table')
}

/** Whether the operation concerns tags or branches, or versions, which tags and branches retain. */
function concernsReferences({ references, facts }: Operation): boolean {
  return references === 'names' || facts.some(([fact]) => fact === 'tag')
}
