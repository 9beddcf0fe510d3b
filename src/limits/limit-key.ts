import type { Principal } from '../identity/index.ts'
import {
  getNamespaceDepth,
  type Identifier,
  listGroupParts,
  type Operation,
  type RouteMatch,
} from '../catalog-api/index.ts'
import { getAddressKey } from '../lib/index.ts'
import type { LimitSelection } from '../config/index.ts'

/** What limits count of a request. */
export interface LimitedRequest {
  readonly principal: Pick<Principal, 'name' | 'method'>
  readonly route: Pick<RouteMatch, 'operation' | 'id'>
  readonly head: { readonly client: string }
}

/** Returns the key by which a limit counts a request; undefined if the limit does not apply to it. */
export type LimitKeyFunction = (request: LimitedRequest) => string | undefined

/** A batch, whose route contains no id, counts for the root. */
export function createLimitKeyFunction({
  per,
  operations,
  principals,
  namespaces,
}: LimitSelection): LimitKeyFunction {
  const selectsOperation = createOperationSelector(operations)
  const selectedPrincipals = principals && new Set(principals)
  const getNamespaceKey = createNamespaceKeyFunction(namespaces)
  return (request) => {
    const { route, principal, head } = request
    if (!selectsOperation(route.operation)) return undefined
    if (selectedPrincipals !== undefined && !selectedPrincipals.has(principal.name)) return undefined
    const namespace = getNamespaceKey(route)
    if (namespace === undefined || per === 'namespace') return namespace
    if (per === 'principal') return getPrincipalKey(principal)
    return per === 'address' ? getAddressKey(head.client) : ''
  }
}

/** A principal may be named anonymous; it must not share the key of requests without credentials. */
export function getPrincipalKey({ name, method }: LimitedRequest['principal']): string {
  return method === 'anonymous' ? '' : name
}

/** `all` selects every operation, even an extra one without a group: a limit grants nothing. */
function createOperationSelector(names: readonly string[]): (operation: Operation) => boolean {
  if (names.includes('all')) return () => true
  const selected = new Set(names.flatMap(listGroupParts))
  return ({ name, group }) => selected.has(name) || (group !== undefined && selected.has(group))
}

/** Callers choose the depth of namespaces, and must not gain a quota with each: only listed ones have their own. */
function createNamespaceKeyFunction(
  namespaces: readonly Identifier[] | undefined,
): (route: LimitedRequest['route']) => string | undefined {
  if (namespaces === undefined) return (route) => getNamespace(route)[0] ?? ''
  const longestFirst = namespaces
    .toSorted((one, other) => other.length - one.length)
    .map((prefix) => ({ prefix, key: JSON.stringify(prefix) }))
  return (route) => {
    const namespace = getNamespace(route)
    return longestFirst.find(({ prefix }) => prefix.every((name, index) => name === namespace[index]))?.key
  }
}

function getNamespace({ operation, id }: LimitedRequest['route']): Identifier {
  return id.slice(0, getNamespaceDepth(operation.object, id))
}
