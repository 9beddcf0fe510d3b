import type { Identifier } from '../interface/identifiers.ts'
import type { ObjectKind } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'

/** One thing that a request needs the policies to allow. */
export interface PermissionNeed {
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  /** Whether it must be allowed on everything beneath the object too. */
  readonly beneath?: true
  /** What in the request asks for it, for the message of a refusal: `mode=overwrite`. */
  readonly because?: string
  /** The entry of a batch that asks for it, and says what there is to say of it; else the request does. */
  readonly entry?: Readonly<Record<string, unknown>>
  /**
   * What there is instead of a refusal: the entries of a batch decide where no rule speaks of the batch itself; the
   * credentials in an answer are withheld; a listing that no rule speaks of answers what is to be seen beneath.
   */
  readonly otherwise?: 'entries-decide' | 'withheld' | 'what-is-visible'
}
