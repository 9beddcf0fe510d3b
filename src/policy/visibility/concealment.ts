import {
  getOperation,
  type Identifier,
  type ObjectKind,
  type OperationName,
  operationNames,
  type Permission,
} from '../../catalog-api/index.ts'
import type { AuthorizationRequest, ConditionFact } from '../conditions/authorization-request.ts'
import type { Decision } from '../engine/decision.ts'
import { outcomeApplies } from '../engine/evaluate.ts'
import { objectPosition } from '../engine/object-position.ts'
import { appendTo } from '../engine/policy-tree.ts'
import { knownFromPrincipal } from '../engine/subject.ts'
import type { PolicySet } from '../policy-set.ts'
import { findDescribing } from './visibility.ts'

/** A caller that is allowed one of these on an object of the kind may know that it exists. */
const permissionsToKnow = new Map<ObjectKind, OperationName[]>()
for (const name of operationNames)
  for (const kind of getOperation(name).reveals) appendTo(permissionsToKnow, kind, name)

const permissionsToListReferences = operationNames.filter((name) => getOperation(name).references === 'lists')

/** Facts of the refused operation do not matter; those of describing the object do. */
function couldUse(policies: PolicySet, request: AuthorizationRequest, permission: Permission): boolean {
  const { operation } = findDescribing(request.kind)
  return policies.couldBeAllowed({ ...request, permission, operation })
}

/** Whether the principal may know that the object exists, so that refusals may reveal it. */
function canKnow(policies: PolicySet, request: AuthorizationRequest): boolean {
  const { kind, id } = request
  // The existence of the root is no secret.
  if (id.length === 0) return true
  // A transaction shows that its table exists.
  if (kind === 'transaction' && !canKnow(policies, { ...request, kind: 'table', id: id.slice(0, -1) }))
    return false
  const permissions = permissionsToKnow.get(kind) ?? []
  if (permissions.some((permission) => couldUse(policies, request, permission))) return true
  // Listings show a namespace as the path to a visible object beneath it.
  return kind === 'namespace' && policies.findVisibleBeneath(request) !== undefined
}

export function canDescribe(policies: PolicySet, request: AuthorizationRequest): boolean {
  return couldUse(policies, request, findDescribing(request.kind).permission)
}

/** Whether the principal may list the tags and branches of a table, so that errors may name them. */
export function canListReferences(policies: PolicySet, request: AuthorizationRequest): boolean {
  return permissionsToListReferences.every((permission) => couldUse(policies, request, permission))
}

/** Whether a denial of this request must be reported as if the object did not exist. */
export function isConcealed(policies: PolicySet, request: AuthorizationRequest): boolean {
  const { kind, id, principal } = request
  // The existence of the root is no secret, even with `onDeny: 404`.
  if (id.length === 0) return false
  const setting = policies.documentsAbove(objectPosition(kind, id).namespace)
  const { namespace: deepest } = setting.findLast(({ onDeny }) => onDeny !== undefined) ?? {}
  // If several policies of a namespace set it, 404 wins, because it conceals more.
  if (deepest !== undefined)
    return setting.some(({ namespace, onDeny }) => onDeny === 404 && namespace.length === deepest.length)
  // Anonymous callers always get 401, whether or not the object exists, so nothing needs to be concealed.
  return principal.method !== 'anonymous' && !canKnow(policies, request)
}

/**
 * Returns whom a caller may ask after this denial: the contact of the policy that denies, else that of the deepest
 * namespace on the path that has one. Contacts of objects that the principal may not know of are passed over, so that the
 * result is the same as if they did not exist.
 */
export function findContact(
  policies: PolicySet,
  request: AuthorizationRequest,
  { rule }: Decision,
): string | undefined {
  const { kind, id } = request
  const mayKnowNamespace = (namespace: Identifier): boolean =>
    canKnow(policies, { ...request, kind: 'namespace', id: namespace })
  const denying = rule && policies.findDocument(rule.policy)
  // A deny can cover the names of some tables only, so its contact would reveal that one of them was guessed.
  if (denying?.contact !== undefined && canKnow(policies, request) && mayKnowNamespace(denying.namespace))
    return denying.contact
  const above = policies.documentsAbove(objectPosition(kind, id).namespace)
  const withContact = above.filter(({ contact }) => contact !== undefined)
  const known = withContact.findLast(({ namespace }) => mayKnowNamespace(namespace))
  return withContact.find(({ namespace }) => namespace.length === known?.namespace.length)?.contact
}

/** Returns the status of the response to a denial, and for 403 also its message and contact. */
export function describeDenial(policies: PolicySet, request: AuthorizationRequest, decision: Decision) {
  if (isConcealed(policies, request)) return { status: 404 }
  if (request.principal.method === 'anonymous') return { status: 401 }
  const { message } = findGrounds(policies, request, decision)
  return { status: 403, message, contact: findContact(policies, request, decision) }
}

/** Why a request is denied, in the words of the rules that deny it or, if none does, of allows that their condition stops. */
interface Grounds {
  readonly message: string | undefined
  /** The facts that the conditions of these rules read. */
  readonly facts: readonly ConditionFact[]
}

/** Returns the grounds of a denial for a response 403: none if the caller may not know of the object. */
export function findGrounds(policies: PolicySet, request: AuthorizationRequest, decision: Decision): Grounds {
  if (decision.allowed || !canKnow(policies, request)) return { message: undefined, facts: [] }
  const { rule: denying } = decision
  const { permission, kind, id, principal } = request
  const facts = new Set<ConditionFact>()
  let message = decision.message
  const position = objectPosition(kind, id)
  const partial = { permission, position, caller: knownFromPrincipal(principal), input: request }
  policies.evaluate(partial, ({ rule, outcome }) => {
    const isUnmet = rule.effect === 'allow' && (outcome === 'false' || outcome === 'failed')
    const decides = denying === undefined ? isUnmet : rule.effect === 'deny' && outcomeApplies(rule, outcome)
    if (!decides) return
    if (denying === undefined) message ??= rule.message
    for (const fact of rule.condition?.facts ?? []) facts.add(fact)
  })
  return { message, facts: [...facts] }
}
