import type { Principal } from '../identity/principal.ts'
import type { Identifier } from '../interface/identifiers.ts'
import { operationNames, type OperationName } from '../interface/operations.ts'
import { permissionGroups } from '../interface/permissions.ts'
import type { Target } from '../interface/target.ts'
import { addressKey } from './address-key.ts'
import type { Selection } from './fairness-settings.ts'

/** What limits look at of a request. */
export interface LimitedRequest {
  readonly principal: Pick<Principal, 'name' | 'method'>
  readonly meaning: Pick<Target, 'operation' | 'id'>
  /** The address of the client. */
  readonly client: string
  readonly hasBody: boolean
  /** In bytes; undefined for a body sent in chunks. */
  readonly contentLength: number | undefined
}

/** Whose share of a limit a request takes from; undefined for a request that the limit is not about. */
export type KeyOf = (request: LimitedRequest) => string | undefined

/** Who shares a limit, found once for all requests. A batch, whose route names nothing, lies in the root. */
export function keyFinder({ per, operations, principals, namespaces }: Selection): KeyOf {
  const chosen = operationsOf(operations)
  const named = principals && new Set(principals)
  const keyIn = namespaceFinder(namespaces)
  return (request) => {
    const { meaning, principal, client } = request
    if (!chosen.has(meaning.operation.name)) return undefined
    if (named !== undefined && !named.has(principal.name)) return undefined
    const namespace = keyIn(meaning)
    if (namespace === undefined || per === 'namespace') return namespace
    if (per === 'principal') return principalKey(principal)
    return per === 'address' ? addressKey(client) : ''
  }
}

/** A principal may be called anonymous, and is not whoever sends no credential. */
export function principalKey({ name, method }: LimitedRequest['principal']): string {
  return method === 'anonymous' ? '' : name
}

function operationsOf(names: readonly string[]): ReadonlySet<OperationName> {
  const granted = new Set<string>(
    names.flatMap((name): readonly string[] => permissionGroups.get(name) ?? [name]),
  )
  return new Set(operationNames.filter((name) => granted.has(name)))
}

/** Callers choose how deep namespaces go, and so must not gain a share with each: only those of the list have one. */
function namespaceFinder(
  namespaces: readonly Identifier[] | undefined,
): (meaning: LimitedRequest['meaning']) => string | undefined {
  if (namespaces === undefined) return (meaning) => namespaceOf(meaning)[0] ?? ''
  const longestFirst = namespaces
    .toSorted((one, other) => other.length - one.length)
    .map((parts) => ({ parts, key: JSON.stringify(parts) }))
  return (meaning) => {
    const namespace = namespaceOf(meaning)
    return longestFirst.find(({ parts }) => parts.every((part, index) => part === namespace[index]))?.key
  }
}

function namespaceOf({ operation, id }: LimitedRequest['meaning']): Identifier {
  return operation.object === 'namespace' ? id : id.slice(0, -1)
}
