import { LRUCache } from 'lru-cache'
import type { Operation } from '../../catalog-api/operations.ts'
import {
  createPermissionTable,
  type Permission,
  type PermissionTable,
} from '../../catalog-api/permissions.ts'
import { listChangePermissions, type ChangePermissions } from '../conditions/commit-requirements.ts'

/** The names of operations and groups that policies may use, and what they stand for. Immutable. */
export interface PolicyVocabulary {
  readonly permissions: PermissionTable
  readonly changes: ChangePermissions
  /** Returns whether it is the name of an operation, a permission or a group. */
  has(name: string): boolean
  /**
   * Expands operations and groups. In a denial, `all` includes extra operations without a group. Unknown names are ignored. Equal lists share one set.
   */
  expand(names: readonly string[], effect: 'allow' | 'deny'): ReadonlySet<Permission>
}

/** Creates the vocabulary of the catalog API and of extra operations. */
export function createPolicyVocabulary(extraOperations: readonly Operation[]): PolicyVocabulary {
  const permissions = createPermissionTable(extraOperations)
  const byName = new Map<string, readonly Permission[]>([
    ...permissions.groups,
    ...permissions.names.map((name) => [name, [name]] as const),
  ])
  // Most rules use one of a few lists of operations.
  const sets = new LRUCache<string, ReadonlySet<Permission>>({ max: 1000 })
  return {
    permissions,
    changes: listChangePermissions(extraOperations),
    has: (name) => byName.has(name),
    expand(names, effect) {
      const coversEverything = effect === 'deny' && names.includes('all')
      const key = `${coversEverything} ${names.join(' ')}`
      let set = sets.get(key)
      if (set === undefined) {
        set = new Set(coversEverything ? permissions.names : names.flatMap((name) => byName.get(name) ?? []))
        sets.set(key, set)
      }
      return set
    },
  }
}

/** The vocabulary without extra operations. */
export const builtInVocabulary = createPolicyVocabulary([])
