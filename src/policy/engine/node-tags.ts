import { listTags } from '../tags/declared-tags.ts'
import { formatTags, tagNamespace, tagTable, type ObjectTags, type TaggedTable } from '../tags/object-tags.ts'
import { getNamespaceDepth } from '../../catalog-api/object-kinds.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import { nearestNode, walkSubtree, type PolicyNode } from './policy-node.ts'

/** Sets the tags of all nodes, given in the order of `numberNodes`. */
export function tagNodes(nodes: readonly PolicyNode[]): void {
  const vocabulary = listTags(nodes.flatMap(({ declarations }) => declarations))
  for (const node of nodes) {
    const { declarations, parent } = node
    node.tags = tagNamespace(parent?.tags ?? { names: [], vocabulary }, declarations)
    const names = declarations.flatMap(({ tables }) => [...tables.keys()])
    if (names.length > 0)
      node.tables = new Map(names.map((name) => [name, tagTable(node.tags, declarations, name)]))
  }
}

/** Returns the tags of an object whose nearest node is given; `table` is the name of a table at that depth. */
export function getTags(node: PolicyNode, depth: number, table: string | undefined): ObjectTags {
  return getTaggedTable(node, depth, table) ?? node.tags
}

/** Returns undefined for tables that no policy declares, and for namespaces. */
export function getTaggedTable(
  node: PolicyNode,
  depth: number,
  table: string | undefined,
): TaggedTable | undefined {
  return node.depth === depth && table !== undefined ? node.tables?.get(table) : undefined
}

/** Returns all combinations of tags that an object in the namespace or beneath may have. */
export function listTagsBeneath(top: PolicyNode): Iterable<ObjectTags> {
  const found = new Map<string, ObjectTags>()
  for (const { tags, tables } of walkSubtree(top)) {
    for (const one of [tags, ...(tables?.values() ?? [])]) found.set(formatTags(one), one)
  }
  return found.values()
}

/** Where an object is in the tree. */
export interface TreePosition {
  /** That of its namespace, or the nearest one above. */
  readonly node: PolicyNode
  /** Depth of its namespace, and its name in it; undefined for a namespace. */
  readonly depth: number
  readonly table: string | undefined
  readonly tags: ObjectTags
}

export function findTreePosition(
  root: PolicyNode,
  { kind, id }: Pick<AuthorizationRequest, 'kind' | 'id'>,
): TreePosition {
  const depth = getNamespaceDepth(kind, id)
  const node = nearestNode(root, id, depth)
  return { node, depth, table: id[depth], tags: getTags(node, depth, id[depth]) }
}
