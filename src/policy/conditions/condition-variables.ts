import type { Principal } from '../../identity/index.ts'
import { unknownAddress } from '../../lib/net/addresses.ts'
import { readTags } from '../tags/object-tags.ts'
import { factValue, known } from './fact.ts'
import { conditionFacts, noFacts, type ConditionFact, type ConditionInput } from './authorization-request.ts'

type VariableSource = 'request' | 'time' | 'object' | 'tags' | 'fact'

export interface ConditionVariable {
  readonly type: string
  readonly source: VariableSource
  /** Returns the value for a condition that asks for `tags`. Throws MissingFactError if the fact is unknown or pending. */
  readonly read: (input: ConditionInput, tags: readonly string[]) => unknown
}

/** A class, because cel-js distinguishes types by constructor. */
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

class ClientValue {
  readonly address: string

  constructor(address: string) {
    this.address = address
  }
}

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

export const conditionVariables: Readonly<Record<string, ConditionVariable>> = {
  principal: {
    type: 'Principal',
    source: 'request',
    read: ({ principal }) => principalValueFor(known(principal)),
  },
  client: {
    type: 'Client',
    source: 'request',
    read: ({ request }) => createClientValue(known(request).clientAddress),
  },
  now: { type: 'google.protobuf.Timestamp', source: 'time', read: ({ request }) => known(request).now },
  context: { type: 'map<string, string>', source: 'request', read: ({ request }) => known(request).context },
  operation: { type: 'string', source: 'request', read: ({ permission }) => known(permission) },
  id: { type: 'list<string>', source: 'object', read: ({ id }) => known(id) },
  tags: {
    type: 'list<string>',
    source: 'tags',
    read: ({ tags }, asked) => factValue(readTags(known(tags), asked)),
  },
  ...Object.fromEntries(conditionFacts.map((name) => [name, createFactVariable(name)])),
}

/** Throws for an unknown address: no comparison may hold for it, not even that it differs from another. */
function createClientValue(address: string): ClientValue {
  if (address === unknownAddress) throw new Error('the address of the caller is unknown')
  return new ClientValue(address)
}

function createFactVariable(name: ConditionFact): ConditionVariable {
  const list = Array.isArray(noFacts[name]) ? 'list<string>' : 'string'
  return {
    type: noFacts[name] instanceof Map ? 'map<string, string>' : list,
    source: 'fact',
    read: ({ operation }) => factValue<unknown>(known(operation)[name]),
  }
}

const principalValues = new WeakMap<Principal, PrincipalValue>()

function principalValueFor(principal: Principal): PrincipalValue {
  let value = principalValues.get(principal)
  if (value === undefined) principalValues.set(principal, (value = new PrincipalValue(principal)))
  return value
}
