import { LRUCache } from 'lru-cache'
import {
  createPermissionTable,
  defaultDelimiter,
  getNameSpace,
  getOperation,
  isExtraOperationName,
  type Operation,
  operationNames,
  type Permission,
  permissionGroups,
  permissionNames,
} from '../../catalog-api/index.ts'

/** Settings of a gateway that extend the names that policies may use. */
export interface VocabularyOptions {
  readonly extraOperations: readonly Operation[]
  /** Whether policies may have `mode: development`. */
  readonly acceptsDevelopment: boolean
  /** Strings that no name of an object contains: the catalogs separate names by them. */
  readonly separators: readonly string[]
}

/**
 * Why a deny covers a permission that it does not name. `name`: it names another operation that removes names of the same
 * space. `move`: it has `tables`, and the permission would move their content out of its reach.
 */
export type Implication = 'name' | 'move'

export interface Coverage {
  readonly permissions: ReadonlySet<Permission>
  /** The permissions among them that the rule does not name. */
  readonly implied: ReadonlyMap<Permission, Implication>
}

/** The names of operations and groups that policies may use, with their permissions. Immutable. */
export type PolicyVocabulary = ReturnType<typeof createPolicyVocabulary>

/** Creates the vocabulary of the catalog API and of the options; `mode: development` is refused by default. */
export function createPolicyVocabulary({
  extraOperations = [],
  acceptsDevelopment = false,
  separators = [defaultDelimiter],
}: Partial<VocabularyOptions>) {
  const permissions = createPermissionTable(extraOperations)
  const byName = new Map<string, readonly Permission[]>([
    ...permissions.groups,
    ...permissions.names.map((name) => [name, [name]] as const),
  ])
  const deniedByName = new Map([...byName, ['all', permissions.names], ['change', permissions.changes]])
  const operations = [...operationNames.map(getOperation), ...extraOperations]
  const removing = operations.filter(({ removesName }) => removesName)
  const moving = operations.filter(({ moves }) => moves)

  function findImplied(named: ReadonlySet<Permission>, coversMoves: boolean): Coverage['implied'] {
    const removed = removing.filter(({ name }) => named.has(name))
    const spaces = new Set(removed.map(({ object }) => getNameSpace(object)))
    const implied = new Map<Permission, Implication>()
    for (const { name } of coversMoves ? moving : []) implied.set(name, 'move')
    for (const { name, object } of removing) if (spaces.has(getNameSpace(object))) implied.set(name, 'name')
    for (const permission of named) implied.delete(permission)
    return implied
  }

  // Most rules use one of a few lists of operations.
  const cache = new LRUCache<string, Coverage>({ max: 1000 })
  return {
    options: { extraOperations, acceptsDevelopment, separators },
    permissions,
    /**
     * Returns the permissions that a rule of these operations and groups covers; with `coversMoves`, a deny also covers those
     * that move tables. In a deny, `all` and `change` include those of no group. Unknown names are ignored. Equal arguments
     * share one result.
     */
    cover(names: readonly string[], effect: 'allow' | 'deny', coversMoves = false): Coverage {
      const key = JSON.stringify([effect, coversMoves, ...names])
      let coverage = cache.get(key)
      if (coverage === undefined) {
        const members = effect === 'deny' ? deniedByName : byName
        const named = new Set(names.flatMap((name) => members.get(name) ?? []))
        const implied =
          effect === 'deny' ? findImplied(named, coversMoves) : new Map<Permission, Implication>()
        coverage = { permissions: new Set([...named, ...implied.keys()]), implied }
        cache.set(key, coverage)
      }
      return coverage
    },
  }
}

export const builtInVocabulary = createPolicyVocabulary({})

export function listNamedPermissions({ permissions, implied }: Coverage): readonly Permission[] {
  return [...permissions].filter((permission) => !implied.has(permission))
}

/** Lists permissions in their shortest form: complete groups of the catalog API first, then the remaining permissions. */
export function describePermissionSet(permissions: ReadonlySet<Permission>): string {
  const words: string[] = []
  const remaining = new Set(permissions)
  // The largest groups are defined last.
  for (const [group, members] of [...permissionGroups].toReversed()) {
    if (members.length < 2 || !members.every((member) => remaining.has(member))) continue
    words.push(group)
    for (const member of members) remaining.delete(member)
  }
  const named = permissionNames.filter((name) => remaining.has(name))
  return [...words, ...named, ...[...remaining].filter(isExtraOperationName)].join(', ')
}

/** Lists the permissions of the catalog API, and the extra operations that a rule covers. */
export function listPermissions(
  documents: readonly { readonly rules: readonly Coverage[] }[],
): readonly Permission[] {
  const extra = documents.flatMap(({ rules }) =>
    rules.flatMap(({ permissions }) => [...permissions].filter(isExtraOperationName)),
  )
  return [...permissionNames, ...[...new Set(extra)].toSorted()]
}
