import type { Principal } from '../identity/principal.ts'
import type { Inquiry, OperationFacts } from './question.ts'

/** When the value of a variable is known: with the head of a request, with the object, or with its body. */
export type KnownWith = 'head' | 'object' | 'body'

/** A variable of conditions. */
export interface ConditionVariable {
  /** Its type in CEL. */
  readonly type: string
  readonly knownWith: KnownWith
  /** Its value; asked for only where it is known. Throws where what was sent is not of the type. */
  readonly read: (inquiry: Inquiry) => unknown
}

/** The caller, as conditions see it. A class, as the library tells types apart by their constructors. */
class PrincipalValue {
  readonly name: string
  readonly groups: readonly string[]
  readonly method: string
  readonly issuer: string
  readonly claims: Readonly<Record<string, unknown>>

  constructor({ name, groups, method, issuer, claims }: Principal) {
    this.name = name
    this.groups = [...groups]
    this.method = method
    this.issuer = issuer ?? ''
    this.claims = claims ?? {}
  }
}

/** Where the request comes from, as conditions see it. */
class ClientValue {
  readonly address: string

  constructor(address: string) {
    this.address = address
  }
}

/** The types of the two above, as the library declares them. */
export const conditionTypes = {
  Principal: {
    ctor: PrincipalValue,
    fields: {
      name: 'string',
      groups: 'list<string>',
      method: 'string',
      issuer: 'string',
      claims: 'map<string, dyn>',
    },
  },
  Client: { ctor: ClientValue, fields: { address: 'string' } },
}

/** Everything that a condition can ask for, by name. */
export const conditionVariables: Readonly<Record<string, ConditionVariable>> = {
  principal: { type: 'Principal', knownWith: 'head', read: ({ principal }) => valueOf(principal) },
  client: {
    type: 'Client',
    knownWith: 'head',
    read: ({ request }) => new ClientValue(request.clientAddress),
  },
  now: { type: 'google.protobuf.Timestamp', knownWith: 'head', read: ({ request }) => request.now },
  context: { type: 'map<string, string>', knownWith: 'head', read: ({ request }) => request.context },
  operation: { type: 'string', knownWith: 'head', read: ({ permission }) => permission },
  id: { type: 'list<string>', knownWith: 'object', read: ({ id }) => id },
  ...operationFact('mode', 'string'),
  ...operationFact('behavior', 'string'),
  ...operationFact('branch', 'string'),
  ...operationFact('tag', 'string'),
  ...operationFact('destination', 'list<string>'),
  ...operationFact('manifestPath', 'string'),
  ...operationFact('location', 'string'),
  ...operationFact('metadata', 'map<string, string>'),
  ...operationFact('properties', 'map<string, string>'),
}

function operationFact(name: keyof OperationFacts, type: string): Record<string, ConditionVariable> {
  return { [name]: { type, knownWith: 'body', read: ({ operation }) => operation?.[name] } }
}

const principalValues = new WeakMap<Principal, PrincipalValue>()

function valueOf(principal: Principal): PrincipalValue {
  let value = principalValues.get(principal)
  if (value === undefined) principalValues.set(principal, (value = new PrincipalValue(principal)))
  return value
}
