import type { Principal } from '../identity/principal.ts'
import { challenge } from '../identity/refusal.ts'
import { InterfaceError } from '../interface/errors.ts'
import { show } from '../interface/identifiers.ts'
import { namespaceNotFound, tableNotFound, transactionNotFound } from '../interface/not-found.ts'
import {
  isOperationName,
  operationNamed,
  type ObjectKind,
  type OperationName,
} from '../interface/operations.ts'
import type { Decision } from '../policy/decision.ts'
import type { Question } from '../policy/question.ts'
import type { PolicySet } from '../policy/trie.ts'
import type { PermissionNeed } from './needs.ts'

type Denial = Extract<Decision, { allowed: false }>

/**
 * A refusal by the policies. The answer is 403, or the very 404 of an object that is not there where the caller may
 * not know that it is; it never depends on whether it is there. A caller without a credential is asked for one with
 * 401 instead of 403 (RFC 9110 section 15.5.2). The log and the audit record tell the truth.
 */
export class DeniedError extends InterfaceError {
  readonly decision: Denial
  /** What was not allowed, on what. */
  readonly needs: string

  constructor(
    need: PermissionNeed,
    decision: Denial,
    { method }: Pick<Principal, 'method'>,
    concealing: InterfaceError | undefined,
  ) {
    const needs = told(need)
    const { reason } = decision
    if (concealing !== undefined) super(concealing.kind, concealing.message, { reason })
    else if (method !== 'anonymous') super('PermissionDenied', needs, { reason })
    else {
      const message = `no credential was sent, and without one ${needs}`
      super('Unauthenticated', message, { reason, headers: challenge })
    }
    this.decision = decision
    this.needs = needs
  }
}

/** The refusal of that need, told in the way that the policies of the object choose. */
export function denied(
  need: PermissionNeed,
  decision: Denial,
  question: Question,
  policies: PolicySet,
): DeniedError {
  return new DeniedError(need, decision, question.principal, concealed(need, question, policies))
}

function told({ permission, id, because }: PermissionNeed): string {
  const object = id.length === 0 ? 'the root' : show(id.join('.'))
  return `you are not allowed ${permission}${because === undefined ? '' : ` (${because})`} on ${object}`
}

/**
 * What the catalog would answer if the object were not there, where it is to look so. Nothing is concealed from a
 * caller who may call the operation itself and only lacks an effect of it.
 */
function concealed(
  { permission, kind, id, beneath }: PermissionNeed,
  question: Question,
  policies: PolicySet,
): InterfaceError | undefined {
  if (beneath === true || !isOperationName(permission) || id.length === 0) return undefined
  const parent: Question = { ...question, kind: 'namespace', id: id.slice(0, -1) }
  if (creates(permission, kind)) {
    return policies.conceals(parent) ? namespaceNotFound(parent.id) : undefined
  }
  if (!policies.conceals(question)) return undefined
  if (kind === 'namespace') return namespaceNotFound(id)
  if (kind === 'transaction') return transactionNotFound(id)
  return policies.conceals(parent) ? namespaceNotFound(parent.id) : tableNotFound(id)
}

/** Whether the object is not there before the operation, so that only its namespace can be missing. */
function creates(permission: OperationName, kind: ObjectKind): boolean {
  const { errors } = operationNamed(permission)
  return kind === 'namespace'
    ? errors.includes('NamespaceAlreadyExists')
    : kind === 'table' && !errors.includes('TableNotFound')
}
