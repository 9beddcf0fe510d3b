import type { Principal } from '../../identity/index.ts'
import { memoizeByObject, unknownAddress } from '../../lib/index.ts'
import type { ObjectTags } from '../tags/object-tags.ts'
import {
  type ConditionFact,
  conditionFacts,
  type ConditionInput,
  type Fact,
  factValue,
  known,
  noFacts,
  unknown,
} from './authorization-request.ts'

export interface ConditionVariable {
  readonly type: string
  /** Returns the value for a condition that names `tags`. Throws MissingFactError if the fact is unknown or pending. */
  readonly read: (input: ConditionInput, tags: readonly string[]) => unknown
}

/** Each type has its own class, because cel-js distinguishes types by constructor. */
class PrincipalValue {
  name = ''
  groups: readonly string[] = []
  method = ''
  issuer = ''
  claims: Readonly<Record<string, unknown>> = {}
}
class ClientValue {
  address = ''
}

const createPrincipalValue = memoizeByObject(
  ({ name, groups, method, issuer = '', claims = {} }: Principal): PrincipalValue =>
    Object.assign(new PrincipalValue(), { name, groups: [...groups], method, issuer, claims }),
)

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
    read: ({ principal }) => createPrincipalValue(known(principal)),
  },
  client: {
    type: 'Client',
    read: ({ request }) => createClientValue(known(request?.clientAddress)),
  },
  now: { type: 'google.protobuf.Timestamp', read: ({ request }) => known(request?.now) },
  context: { type: 'map<string, string>', read: ({ request }) => known(request?.context) },
  operation: { type: 'string', read: ({ permission }) => known(permission) },
  id: { type: 'list<string>', read: ({ id }) => known(id) },
  tags: {
    type: 'list<string>',
    read: ({ tags }, named) => factValue(readTags(known(tags), named)),
  },
  ...Object.fromEntries(conditionFacts.map((name) => [name, createFactVariable(name)])),
}

function createFactVariable(name: ConditionFact): ConditionVariable {
  const list = Array.isArray(noFacts[name]) ? 'list<string>' : 'string'
  return {
    type: noFacts[name] instanceof Map ? 'map<string, string>' : list,
    read: ({ operation }) => factValue<unknown>(known(operation)[name]),
  }
}

/** Throws for an unknown address: no comparison may hold for it, not even that it differs from another. */
function createClientValue(address: string): ClientValue {
  if (address === unknownAddress) throw new Error('the address of the caller is unknown')
  return Object.assign(new ClientValue(), { address })
}

/** The tags for a condition that names some; unknown if no namespace or table of the policies has one of these. */
function readTags({ names, vocabulary }: ObjectTags, named: readonly string[]): Fact<readonly string[]> {
  return names !== 'unknown' && named.every((tag) => vocabulary.ofObjects.has(tag)) ? names : unknown
}
