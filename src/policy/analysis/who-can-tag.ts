import type { Permission } from '../../catalog-api/permissions.ts'
import { objectKindOfPermission } from '../language/permission-object-kind.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { isNamespaceMember, positionsInNamespace } from './diff-policies.ts'
import { findTags, listTaggedTables } from './find-tags.ts'
import { indexDocuments, type DocumentIndex, type ObjectPosition } from './reaching-rules.ts'
import { whoCan, type Entitlement, type Entitlements } from './who-can.ts'

/** Objects that have a tag, or columns with it, and the callers that may use a permission on them. */
export interface TaggedEntitlements extends Entitlements {
  /** A table stands for all tables whose names the same rules match. */
  readonly position: ObjectPosition
  /** The columns that have the tag, if the table itself does not. */
  readonly columns: readonly string[]
  /** Callers to whom a restriction leaves none of these columns. */
  readonly hidden: readonly Entitlement[]
}

/** Returns who may use the permission on all that has the tag: exact, as `whoCan`. */
export function whoCanTag(
  documents: readonly PolicyDocument[],
  permission: Permission,
  tag: string,
): readonly TaggedEntitlements[] {
  const index = indexDocuments(documents)
  return [...index.values()].flatMap((own) => {
    const namespace = own[0]?.namespace ?? []
    const positions = isNamespaceMember(permission)
      ? positionsInNamespace(namespace, own, listTaggedTables(index, namespace))
      : [{ namespace, table: undefined }]
    return positions.flatMap((position) => {
      const columns = findTaggedColumns(index, position, tag)
      return columns === undefined ? [] : [divide(documents, permission, position, columns)]
    })
  })
}

/** Returns undefined if neither the object nor a column of it has the tag. */
function findTaggedColumns(
  index: DocumentIndex,
  position: ObjectPosition,
  tag: string,
): readonly string[] | undefined {
  const { names, columns } = findTags(index, position)
  // Unknown tags may be this one.
  if (typeof names === 'symbol' || names.includes(tag)) return []
  const tagged = [...columns].flatMap(([path, { tags }]) => (tags.includes(tag) ? [path] : []))
  return tagged.length === 0 ? undefined : tagged
}

function divide(
  documents: readonly PolicyDocument[],
  permission: Permission,
  position: ObjectPosition,
  columns: readonly string[],
): TaggedEntitlements {
  const { namespace, table } = position
  const { allowed, overruled } =
    table === undefined
      ? whoCan(documents, permission, 'namespace', namespace)
      : whoCan(documents, permission, objectKindOfPermission(permission), [...namespace, table])
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
