import type { Principal } from '../identity/principal.ts'
import type { Identifier } from '../interface/identifiers.ts'
import type { ObjectKind } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'

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
 * What an operation says of itself, in its query, its headers or its body. Empty where it says nothing. A getter
 * may throw where a value is not of its type: the condition that asked has failed then.
 */
export interface OperationFacts {
  /** By its one name, without underscores and in lower case: `overwrite`, `existok`. */
  readonly mode: string
  /** `restrict` or `cascade`. */
  readonly behavior: string
  /** `main` for an operation on a table that names none; of a branch operation, the branch itself. */
  readonly branch: string
  readonly tag: string
  /** Where a table is renamed to. */
  readonly destination: Identifier
  /** The staging manifest of a version. */
  readonly manifestPath: string
  /** Where in storage a table shall lie. */
  readonly location: string
  /** What is recorded with a version. */
  readonly metadata: ReadonlyMap<string, string>
  /** What is recorded with a namespace or a table. */
  readonly properties: ReadonlyMap<string, string>
}

/** A question to the policies when the head of a request has been read, but perhaps not its body. */
export interface EarlyQuestion {
  readonly principal: Principal
  readonly permission: Permission
  readonly kind: ObjectKind
  /** The id of a namespace is its path; any other id is the path of a namespace and a name in it. */
  readonly id: Identifier
  readonly request: RequestFacts
  /** Undefined as long as the body that may say something has not been read. */
  readonly operation: OperationFacts | undefined
}

/** A question to the policies when everything is known that a condition may ask for. */
export interface Question extends EarlyQuestion {
  readonly operation: OperationFacts
}

/** A question of which even the object may be unknown: about everything beneath a namespace. */
export interface Inquiry extends Omit<EarlyQuestion, 'id'> {
  readonly id: Identifier | undefined
}

/** The facts of an operation that says nothing about itself. */
export const noFacts: OperationFacts = Object.freeze({
  mode: '',
  behavior: '',
  branch: '',
  tag: '',
  destination: [],
  manifestPath: '',
  location: '',
  metadata: new Map<string, string>(),
  properties: new Map<string, string>(),
})
