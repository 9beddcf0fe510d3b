import type { Identifier } from '../interface/identifiers.ts'
import type { StatedFacts } from '../interface/facts.ts'
import type { ObjectKind } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import type { OperationFacts } from '../policy/question.ts'
import type { Allowed } from '../policy/decision.ts'
import type { Members } from './facts/read-facts.ts'

/** A permission that a request needs. */
export interface PermissionNeed {
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  /** The facts of this permission on this object; nothing is inherited from the request. */
  readonly facts: OperationFacts
  /** Whether it must be allowed on everything beneath the object, too. */
  readonly beneath?: true
  /** What in the request asks for it, for the message of a refusal: `mode=overwrite`. */
  readonly because?: string
  /** The entry of a batch that asks for it, and the facts that it states. */
  readonly entry?: { readonly members: Members; readonly stated: StatedFacts }
  /**
   * What happens instead of a refusal: the entries of a batch decide if no rule speaks of the batch itself; the
   * credentials are removed from the response; a listing that no rule speaks of shows what is visible beneath.
   */
  readonly otherwise?: 'entries-decide' | 'withheld' | 'what-is-visible'
}

/** A permission that a request needs, and what the policies decided. */
export interface DecidedNeed {
  readonly need: PermissionNeed
  /** `undecided`: it depends on facts of the body. `left-out`: it is denied, and the request goes on without. */
  readonly result: Allowed | 'undecided' | 'left-out'
}

/** What a request needs besides its own operation: other permissions, other objects, the entries of a batch. */
export function furtherNeeds(decided: readonly DecidedNeed[]): readonly PermissionNeed[] {
  return decided
    .slice(1)
    .map(({ need }) => need)
    .filter(({ otherwise }) => otherwise !== 'withheld')
}
