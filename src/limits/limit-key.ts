import type { Principal } from '../identity/principal.ts'
import type { Identifier } from '../catalog-api/identifiers.ts'
import { operationNames, type OperationName } from '../catalog-api/operations.ts'
import { permissionGroups } from '../catalog-api/permissions.ts'
import type { RouteMatch } from '../catalog-api/request-target.ts'
import { getAddressKey } from './address-key.ts'
import type { LimitSelection } from '../config/caller-limit-settings.ts'

/** What limits look at of a request. */
export interface LimitedRequest {
  readonly principal: Pick<Principal, 'name' | 'method'>
  readonly route: Pick<RouteMatch, 'operation' | 'id'>
  /** The address of the client. */
  readonly client: string
  readonly hasBody: boolean
  /** In bytes; undefined for a body sent in chunks. */
  readonly contentLength: number | undefined
}

/** Whose share of a limit a request takes from; undefined for a request that the limit is not about. */
export type LimitKeyFunction = (request: LimitedRequest) => string | undefined

/** Who shares a limit, found once for all requests. A batch, whose route names nothing, lies in the root. */
export function createLimitKeyFunction({
  per,
  operations,
  principals,
  namespaces,
}: LimitSelection): LimitKeyFunction {
  const chosen = expandOperations(operations)
  const named = principals && new Set(principals)
  const keyIn = createNamespaceKeyFunction(namespaces)
  return (request) => {
    const { route, principal, client } = request
    if (!chosen.has(route.operation.name)) return undefined
    if (named !== undefined && !named.has(principal.name)) return undefined
    const namespace = keyIn(route)
    if (namespace === undefined || per === 'namespace') return namespace
    if (per === 'principal') return getPrincipalKey(principal)
    return per === 'address' ? getAddressKey(client) : ''
  }
}

/** A principal may be called anonymous, and is not whoever sends no credential. */
export function getPrincipalKey({ name, method }: LimitedRequest['principal']): string {
  return method === 'anonymous' ? '' : name
}

function expandOperations(names: readonly string[]): ReadonlySet<OperationName> {
  const granted = new Set<string>(
    names.flatMap((name): readonly string[] => permissionGroups.get(name) ?? [name]),
  )
  return new Set(operationNames.filter((name) => granted.has(name)))
}

/** Callers choose how deep namespaces go, and so must not gain a share with each: only those of the list have one. */
function createNamespaceKeyFunction(
  namespaces: readonly Identifier[] | undefined,
): (route: LimitedRequest['route']) => string | undefined {
  if (namespaces === undefined) return (route) => getNamespace(route)[0] ?? ''
  const longestFirst = namespaces
    .toSorted((one, other) => other.length - one.length)
    .map((parts) => ({ parts, key: JSON.stringify(parts) }))
  return (route) => {
    const namespace = getNamespace(route)
    return longestFirst.find(({ parts }) => parts.every((part, index) => part === namespace[index]))?.key
  }
}

function getNamespace({ operation, id }: LimitedRequest['route']): Identifier {
  return operation.object === 'namespace' ? id : id.slice(0, -1)
}
