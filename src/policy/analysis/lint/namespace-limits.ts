import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { Permission } from '../../../catalog-api/permissions.ts'
import { documentsAbove, namespaceKey, type DocumentIndex } from '../reaching-rules.ts'

/** What policies say of whole namespaces. Each namespace is computed once, as thousands of policies may share it. */
export interface NamespaceLimits {
  /** The permissions that namespaces above that one keep to themselves (`final`). */
  readonly reservedPermissions: (namespace: Identifier) => ReadonlySet<Permission>
  /** The depth of the lowest namespace, from the root down to that one, that does not inherit. */
  readonly inheritanceFloor: (namespace: Identifier) => number
}

/** Reads the limits of namespaces from the policies of an index. */
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
  const made = new Map<string, Value>()
  return (namespace) => {
    const key = namespaceKey(namespace)
    let known = made.get(key)
    if (known === undefined) made.set(key, (known = make(namespace)))
    return known
  }
}
