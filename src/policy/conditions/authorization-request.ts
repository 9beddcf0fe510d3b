import type { Principal } from '../../identity/principal.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { Fact } from './fact.ts'

/** What the head of a request says to conditions. Each is read only where a condition asks for it. */
export interface RequestFacts {
  /** The address of the caller, IPv4 in its own form. */
  readonly clientAddress: string
  /** When the request came; the same for all questions about it. */
  readonly now: Date
  /** The context headers, by key. What the caller says of itself: no proof of anything. */
  readonly context: ReadonlyMap<string, string>
}

/**
 * The facts of a permission on an object, as conditions see them. What the operation of the permission does not state
 * is empty.
 */
export interface OperationFacts {
  /** In its one spelling, lower case and without underscores: `overwrite`, `existok`. */
  readonly mode: Fact<string>
  /** `restrict` or `cascade`. */
  readonly behavior: Fact<string>
  /** `main` for an operation on a table that names none; unknown for one that touches every branch. */
  readonly branch: Fact<string>
  readonly tag: Fact<string>
  /** The id that a table is renamed to. */
  readonly destination: Fact<Identifier>
  /** The staging manifest of a version. */
  readonly manifestPath: Fact<string>
  /** Where in storage an object lies. */
  readonly location: Fact<string>
  /** What is recorded with a version. */
  readonly metadata: Fact<ReadonlyMap<string, string>>
  /** What is recorded with a namespace or a table. */
  readonly properties: Fact<ReadonlyMap<string, string>>
}

/** A question to the policies. Facts may be pending only for `foresee` and for what listings show. */
export interface AuthorizationRequest {
  readonly principal: Principal
  readonly permission: Permission
  readonly kind: ObjectKind
  /** The id of a namespace is its path; any other id is the path of a namespace and a name in it. */
  readonly id: Identifier
  readonly request: RequestFacts
  readonly operation: OperationFacts
}

/** A question of which even the object may be unknown: about everything beneath a namespace. */
export interface ConditionInput extends Omit<AuthorizationRequest, 'id'> {
  readonly id: Identifier | undefined
}

/** The facts of an operation that states none and has no branch. */
export const noFacts = Object.freeze({
  mode: '',
  behavior: '',
  branch: '',
  tag: '',
  destination: [],
  manifestPath: '',
  location: '',
  metadata: new Map<string, string>(),
  properties: new Map<string, string>(),
}) satisfies OperationFacts
