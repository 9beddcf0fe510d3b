import type { Principal } from '../../identity/index.ts'
import type { Identifier, ObjectKind, Permission } from '../../catalog-api/index.ts'
import { getKeys } from '../../lib/index.ts'
import type { ObjectTags } from '../tags/object-tags.ts'

/** Value of a fact that cannot be known; a condition that depends on it is decided against the caller. */
export const unknown: unique symbol = Symbol('unknown')

/** Value of a fact that is not known yet, or that may have any value. */
export const pending: unique symbol = Symbol('pending')

export type Fact<Value> = Value | typeof unknown | typeof pending

/** Facts of the request head, read only if a condition refers to them. */
export interface RequestFacts {
  /** An IPv4 address mapped to IPv6 is given as IPv4. */
  readonly clientAddress: string
  /** Time the request arrived; the same for all its authorization requests. */
  readonly now: Date
  /** Context headers by key. Claims of the caller, not verified. */
  readonly context: ReadonlyMap<string, string>
}

/** Facts of a permission on an object. Facts that the operation does not have are empty. */
export interface OperationFacts {
  /** Canonical spelling: lower case without underscores, such as `overwrite` or `existok`. */
  readonly mode: Fact<string>
  readonly behavior: Fact<string>
  /** `main` for a table operation that names no branch; unknown if the operation affects every branch. */
  readonly branch: Fact<string>
  readonly tag: Fact<string>
  readonly destination: Fact<Identifier>
  readonly manifestPath: Fact<string>
  readonly location: Fact<string>
  readonly metadata: Fact<ReadonlyMap<string, string>>
  readonly properties: Fact<ReadonlyMap<string, string>>
}

export type ConditionFact = keyof OperationFacts

/** Input of a policy decision. Facts may be pending only in partial evaluation and in visibility checks. */
export interface AuthorizationRequest {
  readonly principal: Principal
  readonly permission: Permission
  readonly kind: ObjectKind
  /** The id of a namespace is its path; any other id is a namespace path followed by a name. */
  readonly id: Identifier
  readonly request: RequestFacts
  readonly operation: OperationFacts
}

type Partly<Whole> = { readonly [Part in keyof Whole]?: Whole[Part] | undefined }

/** Input of conditions. Missing parts are pending, such as the id if the decision covers everything beneath a namespace. */
export type ConditionInput = Partly<Omit<AuthorizationRequest, 'request'>> & {
  readonly request?: Partly<RequestFacts> | undefined
  /** Tags of the object, or of all objects that the decision covers. */
  readonly tags?: ObjectTags
}

/** Facts of an operation that has none and no branch, each with the empty value of its type. */
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

export const conditionFacts: readonly ConditionFact[] = getKeys(noFacts)

export function isConditionFact(name: string): name is ConditionFact {
  return Object.hasOwn(noFacts, name)
}

export class MissingFactError extends Error {
  override readonly name = 'MissingFactError'
  readonly isPending: boolean

  constructor(isPending: boolean) {
    super(isPending ? 'a fact that is not known yet' : 'a fact that is not known')
    this.isPending = isPending
  }
}

const unknownFactError = new MissingFactError(false)
export const pendingFactError = new MissingFactError(true)

export function factValue<Value>(fact: Fact<Value>): Value {
  if (fact === unknown) throw unknownFactError
  if (fact === pending) throw pendingFactError
  return fact
}

/** Returns a part of the input of a condition. A missing one is pending. */
export function known<Part>(part: Part | undefined): Part {
  if (part === undefined) throw pendingFactError
  return part
}
