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
}
