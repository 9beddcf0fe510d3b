import { listTags } from '../tags/declared-tags.ts'
import { formatTags, tagNamespace, tagTable, type ObjectTags, type TaggedTable } from '../tags/object-tags.ts'
import { getNamespaceDepth } from '../../catalog-api/requirements.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { ObjectPosition } from './object-position.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import {
  createRoot,
  getOrCreateNode,
  nearestNode,
  numberNodes,
  walkSubtree,
  type PolicyNode,
} from './policy-node.ts'

/** Sets the tags of all nodes, given in the order of `numberNodes`. */
export function tagNodes(nodes: readonly PolicyNode[]): void {
  const declared = nodes.map(({ documents }) => documents.flatMap(({ tags }) => tags ?? []))
  const vocabulary = listTags(declared.flat())
  for (const node of nodes) {
    const { parent, index } = node
    const declarations = declared[index] ?? []
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

/** Like `getTags`, with the declared columns of a table. */
export function getTaggedColumns(node: PolicyNode, depth: number, table: string | undefined): TaggedTable {
  return getTaggedTable(node, depth, table) ?? { ...node.tags, columns: new Map() }
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
  return createPosition(nearestNode(root, id, depth), depth, id[depth])
}

export function locate(root: PolicyNode, { namespace, table }: ObjectPosition): TreePosition {
  return createPosition(nearestNode(root, namespace, namespace.length), namespace.length, table)
}

function createPosition(node: PolicyNode, depth: number, table: string | undefined): TreePosition {
  return { node, depth, table, tags: getTags(node, depth, table) }
}

/** Finds what policies declare about objects. */
export interface TagFinder {
  /** Returns the tags of an object, and the declared columns of a table. */
  findTags(position: ObjectPosition): TaggedTable
  /** Returns the names of the declared tables of a namespace. */
  listTaggedTables(namespace: Identifier): readonly string[]
}

/** The nodes must have been tagged. */
export function createTagFinder(root: PolicyNode): TagFinder {
  return {
    findTags(position) {
      const { node, depth, table } = locate(root, position)
      return getTaggedColumns(node, depth, table)
    },
    listTaggedTables(namespace) {
      const node = nearestNode(root, namespace, namespace.length)
      return node.depth === namespace.length ? [...(node.tables?.keys() ?? [])] : []
    },
  }
}

/** Finds the tags that documents declare, before they are compiled. */
export function tagDocuments(documents: readonly PolicyDocument[]): TagFinder {
  const root = createRoot()
  for (const document of documents)
    if (document.tags !== undefined) getOrCreateNode(root, document.namespace).documents.push(document)
  tagNodes(numberNodes(root))
  return createTagFinder(root)
}
