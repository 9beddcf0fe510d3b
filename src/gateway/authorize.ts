import { InterfaceError } from '../interface/errors.ts'
import { show } from '../interface/identifiers.ts'
import type { OperationName } from '../interface/operations.ts'
import type { Decision } from '../policy/decision.ts'
import type { PolicySet } from '../policy/trie.ts'
import type { PermissionNeed } from './needs.ts'
import { routeNeeds } from './route-facts.ts'
import { grant, type Allowed, type Authenticated, type Permitted } from './stages.ts'

/** A refusal by the policies: 403, with the decision for the log and the audit record. */
export class DeniedError extends InterfaceError {
  readonly decision: Extract<Decision, { allowed: false }>

  constructor(need: PermissionNeed, decision: Extract<Decision, { allowed: false }>) {
    const object = need.id.length === 0 ? 'the root' : show(need.id.join('.'))
    const because = need.because === undefined ? '' : ` (${need.because})`
    super('PermissionDenied', `you are not allowed ${need.permission}${because} on ${object}`)
    this.decision = decision
  }
}

/** The operations whose answer may carry storage credentials. */
const vending: ReadonlySet<OperationName> = new Set([
  'DescribeTable',
  'DeclareTable',
  'CreateTable',
  'BatchCommitTables',
])

/**
 * The stage that asks the policies for everything the head of a request needs. The only one that makes a permitted
 * request. The batch operations name no object in their route: unless a rule denies them outright, they are decided
 * by what stands in the body, operation by operation. Throws DeniedError (403).
 */
export function authorize(request: Authenticated, policies: PolicySet): Permitted {
  const { operation, id } = request.meaning
  const isBatch = operation.object === 'none' && operation.effect !== 'read'
  const own = policies.decide(request.principal, operation.name, operation.object, id)
  if (!own.allowed && !(isBatch && own.reason === 'no_rule')) {
    throw new DeniedError({ permission: operation.name, kind: operation.object, id }, own)
  }
  for (const need of routeNeeds(request)) demand(need, request, policies)
  return grant(request, {
    decision: own.allowed ? own : undefined,
    withholdsCredentials:
      vending.has(operation.name) &&
      !policies.decide(request.principal, 'VendCredentials', operation.object, id).allowed,
  })
}

/** Answers the decision that allows the need. Throws DeniedError (403). */
export function demand(need: PermissionNeed, request: Authenticated, policies: PolicySet): Allowed {
  const decision =
    need.beneath === true
      ? policies.decideBeneath(request.principal, need.permission, need.id)
      : policies.decide(request.principal, need.permission, need.kind, need.id)
  if (!decision.allowed) throw new DeniedError(need, decision)
  return decision
}
