import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { Permission } from '../../../catalog-api/permissions.ts'
import { documentsAbove, namespaceKey, type DocumentIndex } from '../reaching-rules.ts'

/** Limits of namespaces, cached, because thousands of policies may share a namespace. */
export interface NamespaceLimits {
  /** Permissions reserved (`final`) by the namespaces above. */
  readonly reservedPermissions: (namespace: Identifier) => ReadonlySet<Permission>
  /** Depth of the deepest namespace on the path that does not inherit; 0 if all inherit. */
  readonly inheritanceFloor: (namespace: Identifier) => number
}

export function createNamespaceLimits(index: DocumentIndex): NamespaceLimits {
  return {
    reservedPermissions: cacheByNamespace((namespace) => {
      const above = namespace.length === 0 ? [] : documentsAbove(index, namespace.slice(0, -1))
      return new Set(above.flatMap(({ final }) => [...final]))
    }),
    inheritanceFloor: cacheByNamespace((namespace) =>
      documentsAbove(index, namespace)
        .filter(({ inherit }) => !inherit)
        .reduce((floor, document) => Math.max(floor, document.namespace.length), 0),
    ),
  }
}

function cacheByNamespace<Value>(make: (namespace: Identifier) => Value): (namespace: Identifier) => Value {
  const cache = new Map<string, Value>()
  return (namespace) => {
    const key = namespaceKey(namespace)
    let known = cache.get(key)
    if (known === undefined) cache.set(key, (known = make(namespace)))
    return known
  }
}
