import {
  CatalogError,
  type ErrorName,
  findOperation,
  formatIdentifierForMessage,
  isEffectPermission,
  namespaceNotFound,
  type Operation,
  quoteForMessage,
  type StatedFacts,
  tableNotFound,
  transactionNotFound,
} from '../../catalog-api/index.ts'
import { challenge, type Principal } from '../../identity/index.ts'
import {
  type Allowed,
  type AuthorizationRequest,
  canListReferences,
  type ConditionFact,
  type Decision,
  findByVisibility,
  findContact,
  findGrounds,
  isConcealed,
  noFacts,
  type PolicySet,
  type RequestFacts,
} from '../../policy/index.ts'
import type { PermissionDecision, RequiredPermission } from './required-permission.ts'
import type { Authenticated } from '../context.ts'

/** The decisions of the policies about a request. */
export class Decisions {
  /** The policies that decide, about the head and about the body. */
  readonly policies: PolicySet
  /** Facts that do not depend on the operation. */
  readonly facts: RequestFacts
  /** Facts that the request states, as far as it was read. */
  readonly stated: StatedFacts
  /** All required permissions, that of the operation first. */
  readonly decisions: readonly PermissionDecision[]

  constructor({ policies, facts, stated, decisions }: Decisions) {
    this.policies = policies
    this.facts = facts
    this.stated = stated
    this.decisions = decisions
  }
}

/** A caller, the policies that decide about it, and the facts that they see. */
export interface DecisionContext {
  readonly principal: Principal
  readonly policies: PolicySet
  readonly facts: RequestFacts
}

/** Decides before the body is known: `undecided` if a body could change it. Throws DeniedError (401, 403, 404). */
export function decidePartially(
  permission: RequiredPermission,
  context: DecisionContext,
): PermissionDecision['result'] {
  const request = createAuthorizationRequest(permission, context)
  const decision = context.policies.decidePartially(request)
  return decision === undefined ? 'undecided' : toResult(permission, decision, request, context.policies)
}

/** Decides with all facts. Throws DeniedError (401, 403, 404). */
export function decide(permission: RequiredPermission, context: DecisionContext): Allowed | 'not-granted' {
  const { policies } = context
  const request = createAuthorizationRequest(permission, context)
  const decision =
    permission.includesSubtree === true ? policies.decideBeneath(request) : policies.decide(request)
  const isWhole = !decision.allowed || permission.requiresWhole !== true
  return toResult(permission, isWhole ? decision : denyPart(decision, request, policies), request, policies)
}

/** Denies a table that restrictions leave a part of. */
function denyPart(allowed: Allowed, request: AuthorizationRequest, policies: PolicySet): Decision {
  const [part] = policies.findRestriction(request)?.parts ?? []
  if (part === undefined) return allowed
  const message = 'you may read a part of this table only'
  return { allowed: false, reason: 'denied', rule: part.rule, message, revision: allowed.revision }
}

/** Throws DeniedError, unless the request goes on without the permission. */
function toResult(
  permission: RequiredPermission,
  decision: Decision,
  request: AuthorizationRequest,
  policies: PolicySet,
): Allowed | 'not-granted' {
  if (decision.allowed) return decision
  if (permission.fallback === 'withheld') return 'not-granted'
  const isDecidedByBody = permission.fallback === 'entries-decide' || permission.fallback === 'job-decides'
  if (isDecidedByBody && decision.reason === 'no_rule') return 'not-granted'
  const visible =
    permission.fallback === 'visibility-decides' ? findByVisibility(policies, request, decision) : undefined
  if (visible !== undefined) return visible
  throw new DeniedError(permission, decision, request, policies)
}

export function createAuthorizationRequest(
  { permission, kind, id, facts }: RequiredPermission,
  { principal, facts: request }: DecisionContext,
): AuthorizationRequest {
  return { principal, permission, kind, id, request, operation: facts }
}

type Denial = Extract<Decision, { allowed: false }>

/**
 * A refusal by the policies. The response is 403, or the same 404 as for a missing object if the caller may not know
 * that the object exists, as the policies of the object say; it never depends on whether the object exists. A caller without credentials gets 401 instead
 * of 403 (RFC 9110, section 15.5.2). Only a 403 says as whom the caller came, why, and whom to ask.
 * The log and the audit record contain the actual reason.
 */
export class DeniedError extends CatalogError {
  readonly decision: Denial
  /** The denied permission and its object, as text. */
  readonly required: string

  constructor(
    permission: RequiredPermission,
    decision: Denial,
    request: AuthorizationRequest,
    policies: PolicySet,
  ) {
    const required = describePermission(permission)
    const denialMessage = `you are not allowed ${required}`
    const { reason } = decision
    const { method, name } = request.principal
    const concealing = createConcealingError(permission, request, policies)
    if (concealing !== undefined) super(concealing.kind, concealing.message, { reason })
    else if (method !== 'anonymous') {
      const hints = listHints(permission, request, decision, policies)
      const detail = [`authenticated as ${name}`, ...hints].join('; ')
      super('PermissionDenied', denialMessage, { reason, detail })
    } else {
      const message = `no credential was sent; without a credential ${denialMessage}`
      super('Unauthenticated', message, { reason, headers: challenge })
    }
    this.decision = decision
    this.required = required
  }
}

function listHints(
  { includesSubtree }: RequiredPermission,
  request: AuthorizationRequest,
  decision: Denial,
  policies: PolicySet,
): readonly string[] {
  const contact = findContact(policies, request, decision)
  // A rule beneath the object would reveal that there is something beneath. One can cover some names only, so it would
  // reveal that a caller guessed one of them.
  const grounds = includesSubtree === true ? undefined : findGrounds(policies, request, decision)
  // Facts that the caller stated, perhaps unaware that they decide, such as the branch that a client has checked out.
  const decisive = factWords.flatMap(([fact, word]) => {
    const value = request.operation[fact]
    if (!grounds?.facts.includes(fact) || typeof value === 'symbol' || value.length === 0) return []
    return `${word} ${typeof value === 'string' ? quoteForMessage(value) : formatIdentifierForMessage(value)}`
  })
  return [
    ...(grounds?.message === undefined ? [] : [grounds.message]),
    ...(decisive.length === 0 ? [] : [`decided by the ${decisive.join(', the ')}`]),
    ...(contact === undefined ? [] : [`contact for access: ${contact}`]),
  ]
}

const factWords = [
  ['branch', 'branch'],
  ['tag', 'tag'],
  ['mode', 'mode'],
  ['destination', 'new name'],
  ['location', 'location'],
  ['manifestPath', 'manifest path'],
] as const satisfies readonly (readonly [ConditionFact, string])[]

function describePermission({ permission, id, requiredBy }: RequiredPermission): string {
  return `${permission}${requiredBy === undefined ? '' : ` (${requiredBy})`} on ${formatIdentifierForMessage(id)}`
}

/**
 * The error that the catalog would return if the object did not exist, if the policies conceal it. Nothing is concealed
 * from a caller that may call the operation itself and lacks only an additional permission.
 */
function createConcealingError(
  { permission, kind, id, includesSubtree }: RequiredPermission,
  request: AuthorizationRequest,
  policies: PolicySet,
): CatalogError | undefined {
  if (includesSubtree === true || isEffectPermission(permission) || id.length === 0) return undefined
  const parent: AuthorizationRequest = { ...request, kind: 'namespace', id: id.slice(0, -1) }
  // Only the namespace of an object that it creates can be missing.
  if (findOperation(permission)?.creates === true) {
    return isConcealed(policies, parent) ? namespaceNotFound(parent.id) : undefined
  }
  if (!isConcealed(policies, request)) return undefined
  if (kind === 'namespace') return namespaceNotFound(id)
  if (kind === 'transaction') return transactionNotFound(id)
  if (isConcealed(policies, parent)) return namespaceNotFound(parent.id)
  return tableNotFound(id, kind === 'function' || kind === 'secret' ? kind : 'table')
}

const messagesWithoutNames: Partial<Record<ErrorName, string>> = {
  TableTagNotFound: 'the table has no such tag',
  TableTagAlreadyExists: 'the tag already exists',
  TableBranchNotFound: 'the table has no such branch',
  TableBranchAlreadyExists: 'the branch already exists',
}

type PermittedRequest = Authenticated & { readonly permit: Decisions }

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
    return !canListReferences(policies, { ...table, principal, request: facts, operation: noFacts })
  })
  if (!isHidden) return error
  return replaceMessage(error, message)
}

/** Replaces the message of an upstream error, by default with one that says nothing but its status. */
export function replaceMessage(
  { kind, status, headers }: CatalogError,
  message = `the upstream refused the request with status ${status}`,
): CatalogError {
  return new CatalogError(kind, message, { status, headers })
}

/** The table of the route and those of the entries of a batch, with the operations on them. */
function listTables({ route, permit }: PermittedRequest) {
  const ofEntries = permit.decisions.flatMap(({ requiredPermission: { entry, permission, id } }) => {
    const operation = entry && findOperation(permission)
    return operation === undefined ? [] : [{ operation, id }]
  })
  const all: readonly Pick<typeof route, 'operation' | 'id'>[] = [route, ...ofEntries]
  return all.filter(({ operation }) => operation.object === 'table')
}

/** Whether the operation concerns tags or branches, or versions, which tags and branches retain. */
function concernsReferences({ references, facts }: Operation): boolean {
  return references === 'names' || facts.some(([fact]) => fact === 'tag')
}
