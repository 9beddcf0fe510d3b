import { CatalogError, type ErrorName } from '../../catalog-api/catalog-error.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { noFacts, type RequestFacts } from '../../policy/conditions/authorization-request.ts'
import type { PolicySet } from '../../policy/policy-set.ts'
import type { Authenticated } from '../context.ts'

const messagesWithoutNames: Partial<Record<ErrorName, string>> = {
  TableTagNotFound: 'the table has no such tag',
  TableTagAlreadyExists: 'the tag already exists',
  TableBranchNotFound: 'the table has no such branch',
  TableBranchAlreadyExists: 'the branch already exists',
}

/** A request with the policies that allowed it. */
interface PermittedRequest extends Authenticated {
  readonly permit: { readonly policies: PolicySet; readonly facts: RequestFacts }
}

/**
 * Removes the names of tags and branches from an upstream error if the caller may not list them: catalogs name other
 * tags and branches in their messages, for example the tags that prevent the deletion of a branch.
 */
export function hideReferences(error: CatalogError, request: PermittedRequest): CatalogError {
  const { route, principal, permit } = request
  const { operation, id } = route
  const { facts, policies } = permit
  const message = messagesWithoutNames[error.kind]
  if (operation.object !== 'table' || (message === undefined && !concernsReferences(operation))) return error
  const question = {
    principal,
    permission: operation.name,
    kind: operation.object,
    id,
    request: facts,
    operation: noFacts,
  }
  if (policies.canListReferences(question)) return error
  return new CatalogError(
    error.kind,
    message ?? `the upstream refused the request with status ${error.status}`,
    {
      status: error.status,
      headers: error.headers,
    },
  )
}

/** Whether the operation concerns tags or branches, or versions, which tags and branches retain. */
function concernsReferences({ references, facts }: Operation): boolean {
  return references === 'names' || facts.some(([fact]) => fact === 'tag')
}
