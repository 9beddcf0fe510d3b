import { getNameSpace } from '../../catalog-api/requirements.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'

/**
 * Why a deny covers a permission that it does not name. `name`: it names another operation that removes names of the same
 * space. `move`: it has `tables`, and the permission would move what they hold out of its reach.
 */
export type Implication = 'name' | 'move'

/** Everything that a rule covers. */
export interface Coverage {
  readonly permissions: ReadonlySet<Permission>
  /** The permissions among them that the rule does not name. */
  readonly implied: ReadonlyMap<Permission, Implication>
}

/** Returns what a deny of these permissions covers. Equal arguments share one result. */
export type CoverDeny = (
  named: ReadonlySet<Permission>,
  options: { readonly includesMoves: boolean },
) => Coverage

export const nothingImplied: ReadonlyMap<Permission, Implication> = new Map()

export function createDenyCoverage(operations: readonly Operation[]): CoverDeny {
  const removing = operations.filter(({ removesName }) => removesName)
  const moving = operations.filter(({ moves }) => moves)
  const caches = { true: new WeakMap<object, Coverage>(), false: new WeakMap<object, Coverage>() }

  function cover(named: ReadonlySet<Permission>, includesMoves: boolean): Coverage {
    const spaces = new Set(
      removing.filter(({ name }) => named.has(name)).map(({ object }) => getNameSpace(object)),
    )
    const implied = new Map<Permission, Implication>([
      ...(includesMoves ? moving : []).map(({ name }) => [name, 'move'] as const),
      ...removing
        .filter(({ object }) => spaces.has(getNameSpace(object)))
        .map(({ name }) => [name, 'name'] as const),
    ])
    for (const permission of named) implied.delete(permission)
    if (implied.size === 0) return { permissions: named, implied: nothingImplied }
    return { permissions: new Set([...named, ...implied.keys()]), implied }
  }

  return (named, { includesMoves }) => {
    const cache = caches[`${includesMoves}`]
    let coverage = cache.get(named)
    if (coverage === undefined) cache.set(named, (coverage = cover(named, includesMoves)))
    return coverage
  }
}

/** Returns the permissions that a rule names. */
export function listNamedPermissions({ permissions, implied }: Coverage): readonly Permission[] {
  return [...permissions].filter((permission) => !implied.has(permission))
}

/** Continues a reference to a rule that covers the permission: why it does, unless it names it. */
export function describeImplication(implication: Implication | undefined): string {
  if (implication === undefined) return ''
  return implication === 'name'
    ? ', which denies every operation that removes the name'
    : ', which denies what moves its tables'
}
