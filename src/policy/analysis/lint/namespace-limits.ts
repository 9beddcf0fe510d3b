import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { Permission } from '../../../catalog-api/permissions.ts'
import { namespaceKey } from '../../engine/object-position.ts'
import { knownFromSubject, matchSubjects, type Subject } from '../../engine/subject.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'

/** Limits of namespaces, cached, because thousands of policies may share a namespace. */
export interface NamespaceLimits {
  /** Permissions reserved (`final`) by the namespaces above. */
  readonly reservedPermissions: (namespace: Identifier) => ReadonlySet<Permission>
  /** Depth of the deepest namespace on the path that does not inherit; 0 if all inherit. */
  readonly inheritanceFloor: (namespace: Identifier) => number
}

export function createNamespaceLimits(set: PolicySet): NamespaceLimits {
  return {
    reservedPermissions: cacheByNamespace((namespace) => {
      const above = namespace.length === 0 ? [] : set.documentsAbove(namespace.slice(0, -1))
      return new Set(above.flatMap(({ final }) => [...final]))
    }),
    inheritanceFloor: cacheByNamespace((namespace) =>
      set
        .documentsAbove(namespace)
        .filter(({ inherit }) => !inherit)
        .reduce((floor, document) => Math.max(floor, document.namespace.length), 0),
    ),
  }
}

/** Whether a requirement on folders may apply to the subject in the namespace of the policy. */
export type RequiresFolders = (
  document: Pick<PolicyDocument, 'namespace' | 'isShadow'>,
  subject: Subject,
) => boolean

export function createFolderRequirements(set: PolicySet): RequiresFolders {
  const requirementsIn = cacheByNamespace((namespace) =>
    set
      .documentsAbove(namespace)
      .flatMap((document) => document.rules.filter(isFolderRequirement).map((rule) => ({ document, rule }))),
  )
  return ({ namespace, isShadow }, subject) =>
    requirementsIn(namespace).some(
      ({ document, rule }) =>
        (isShadow || !document.isShadow) && matchSubjects(rule.subjects, knownFromSubject(subject)) !== false,
    )
}

function isFolderRequirement({ condition }: PolicyRule): boolean {
  return condition?.requirement !== undefined && 'folders' in condition.requirement
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
