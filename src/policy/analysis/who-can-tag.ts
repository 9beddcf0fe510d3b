import { groupBy } from '../../lib/group-by.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { isNamespaceMember, namespaceKey, type ObjectPosition } from '../engine/object-position.ts'
import type { PolicySet } from '../policy-set.ts'
import { listNameClasses } from './name-classes.ts'
import { whoCan, type Entitlement, type Entitlements } from './who-can.ts'

/** Objects that have a tag, or columns with it, and the callers that may use a permission on them. */
export interface TaggedEntitlements extends Entitlements {
  /** A table stands for tables of a pattern. */
  readonly position: ObjectPosition
  /** The columns that have the tag, if the table itself does not. */
  readonly columns: readonly string[]
  /** Callers to whom a restriction leaves none of these columns. */
  readonly hidden: readonly Entitlement[]
}

/** Returns who may use the permission on all that has the tag: exact, as `whoCan`. */
export function whoCanTag(
  set: PolicySet,
  permission: Permission,
  tag: string,
): readonly TaggedEntitlements[] {
  const byNamespace = groupBy(set.documents, ({ namespace }) => namespaceKey(namespace))
  return [...byNamespace.values()].flatMap((own) => {
    const namespace = own[0]?.namespace ?? []
    const tables = isNamespaceMember(permission) ? listNameClasses([set], namespace) : []
    return [undefined, ...tables].flatMap((table) => {
      const position = { namespace, table }
      const columns = findTaggedColumns(set, position, tag)
      return columns === undefined ? [] : [divide(set, permission, position, columns)]
    })
  })
}

/** Returns undefined if neither the object nor a column of it has the tag. */
function findTaggedColumns(
  set: PolicySet,
  position: ObjectPosition,
  tag: string,
): readonly string[] | undefined {
  const { names, columns } = set.findTags(position)
  // Unknown tags may be this one.
  if (typeof names === 'symbol' || names.includes(tag)) return []
  const tagged = [...columns].flatMap(([path, { tags }]) => (tags.includes(tag) ? [path] : []))
  return tagged.length === 0 ? undefined : tagged
}

function divide(
  set: PolicySet,
  permission: Permission,
  position: ObjectPosition,
  columns: readonly string[],
): TaggedEntitlements {
  const { allowed, overruled } = whoCan(set, permission, position)
  const isHidden = ({ restrictions }: Entitlement): boolean =>
    columns.length > 0 &&
    restrictions.some(
      ({ reaching, subjects }) =>
        subjects === undefined && columns.every((path) => !isShown(path, reaching.restriction.columns)),
    )
  return {
    position,
    columns,
    allowed: allowed.filter((entitlement) => !isHidden(entitlement)),
    overruled,
    hidden: allowed.filter(isHidden),
  }
}

/** A part of a struct, or the struct around it, shows something of a column. */
function isShown(path: string, shown: ReadonlyMap<string, unknown>): boolean {
  return [...shown.keys()].some(
    (other) => other === path || other.startsWith(`${path}.`) || path.startsWith(`${other}.`),
  )
}
