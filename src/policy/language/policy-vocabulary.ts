import { LRUCache } from 'lru-cache'
import { defaultDelimiter } from '../../catalog-api/identifiers.ts'
import { getOperation, operationNames, type Operation } from '../../catalog-api/operations.ts'
import {
  createPermissionTable,
  type Permission,
  type PermissionTable,
} from '../../catalog-api/permissions.ts'
import { createDenyCoverage, type CoverDeny } from './deny-coverage.ts'

/** What policies may contain besides the catalog API, according to the settings of a gateway. */
export interface VocabularyOptions {
  readonly extraOperations: readonly Operation[]
  /** Whether policies may have `mode: development`. */
  readonly acceptsDevelopment: boolean
  /** Strings that no name of an object contains: the catalogs separate names by them. */
  readonly separators: readonly string[]
}

/** The names of operations and groups that policies may use, and what they stand for. Immutable. */
export interface PolicyVocabulary {
  readonly options: VocabularyOptions
  readonly permissions: PermissionTable
  readonly coverDeny: CoverDeny
  /** Returns whether it is the name of an operation, a permission or a group. */
  has(name: string): boolean
  /**
   * Expands operations and groups. In a denial, `all` and `change` include what is in no group. Unknown names are ignored.
   * Equal lists share one set.
   */
  expand(names: readonly string[], effect: 'allow' | 'deny'): ReadonlySet<Permission>
}

/** Creates the vocabulary of the catalog API and of the options; `mode: development` is refused by default. */
export function createPolicyVocabulary({
  extraOperations = [],
  acceptsDevelopment = false,
  separators = [defaultDelimiter],
}: Partial<VocabularyOptions>): PolicyVocabulary {
  const permissions = createPermissionTable(extraOperations)
  const byName = new Map<string, readonly Permission[]>([
    ...permissions.groups,
    ...permissions.names.map((name) => [name, [name]] as const),
  ])
  const deniedByName = new Map<string, readonly Permission[]>([
    ['all', permissions.names],
    ['change', permissions.changes],
  ])
  // Most rules use one of a few lists of operations.
  const sets = new LRUCache<string, ReadonlySet<Permission>>({ max: 1000 })
  return {
    options: { extraOperations, acceptsDevelopment, separators },
    permissions,
    coverDeny: createDenyCoverage([...operationNames.map(getOperation), ...extraOperations]),
    has: (name) => byName.has(name),
    expand(names, effect) {
      const includesUngrouped = effect === 'deny' && names.some((name) => deniedByName.has(name))
      const key = JSON.stringify([includesUngrouped, ...names])
      let set = sets.get(key)
      if (set === undefined) {
        const find = (name: string): readonly Permission[] =>
          (includesUngrouped ? deniedByName.get(name) : undefined) ?? byName.get(name) ?? []
        set = new Set(names.flatMap(find))
        sets.set(key, set)
      }
      return set
    },
  }
}

/** The vocabulary without options. */
export const builtInVocabulary = createPolicyVocabulary({})
