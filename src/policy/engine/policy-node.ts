import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { isRestricting, type CompiledRule, type RestrictingRule } from './compiled-rule.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { inheritTags, listTags, noTags, type ObjectTags } from '../tags/object-tags.ts'
import type { ObjectPosition } from './object-position.ts'

/** Rules of one namespace and one effect, in their order. */
export class RuleIndex {
  readonly all: CompiledRule[] = []
  readonly bySubject = new Map<number, CompiledRule[]>()
  readonly permissions = new Set<Permission>()

  add(rule: CompiledRule): void {
    this.all.push(rule)
    for (const permission of rule.permissions) this.permissions.add(permission)
    for (const subject of rule.subjects) {
      const rules = this.bySubject.get(subject)
      if (rules === undefined) this.bySubject.set(subject, [rule])
      else rules.push(rule)
    }
  }
}

export interface PolicyNode {
  /** Last part of the namespace path; empty for the root. */
  readonly name: string
  readonly parent: PolicyNode | undefined
  readonly depth: number
  /** Whether allows of the namespaces above are not inherited. */
  stopsInheritance: boolean
  /** Permissions that policies of namespaces beneath cannot allow. */
  final: ReadonlySet<Permission>
  /** Those of the namespace. */
  readonly documents: PolicyDocument[]
  /** Tags of the namespace and, by name, of its declared tables. Set by `completeTree`. */
  tags: ObjectTags
  tables: ReadonlyMap<string, ObjectTags> | undefined
  readonly rules: CompiledRule[]
  /** Those that leave something of their tables; undefined if there are none. */
  restrictions: RestrictingRule[] | undefined
  /** The same rules by effect; undefined if there are none. */
  denies: RuleIndex | undefined
  allows: RuleIndex | undefined
  /** Undefined if no policy covers a namespace beneath. */
  children: Map<string, PolicyNode> | undefined
  /** Index in depth-first order, and the index of the next node that is not beneath this one. */
  index: number
  subtreeEnd: number
}

const noPermissions: ReadonlySet<Permission> = new Set()

export function createRoot(): PolicyNode {
  return createNode('', undefined)
}

function createNode(name: string, parent: PolicyNode | undefined): PolicyNode {
  return {
    name,
    parent,
    depth: parent === undefined ? 0 : parent.depth + 1,
    stopsInheritance: false,
    final: noPermissions,
    documents: [],
    tags: noTags,
    tables: undefined,
    rules: [],
    restrictions: undefined,
    denies: undefined,
    allows: undefined,
    children: undefined,
    index: 0,
    subtreeEnd: 0,
  }
}

export function getOrCreateNode(root: PolicyNode, namespace: Identifier): PolicyNode {
  let node = root
  for (const part of namespace) {
    const children: Map<string, PolicyNode> = (node.children ??= new Map())
    let child = children.get(part)
    if (child === undefined) children.set(part, (child = createNode(part, node)))
    node = child
  }
  return node
}

/** Rules must be added in their order. */
export function addRule(node: PolicyNode, rule: CompiledRule): void {
  node.rules.push(rule)
  if (isRestricting(rule)) (node.restrictions ??= []).push(rule)
  const index = rule.effect === 'deny' ? (node.denies ??= new RuleIndex()) : (node.allows ??= new RuleIndex())
  index.add(rule)
}

/** Returns the node of the first `depth` parts of the id, or its nearest ancestor in the tree. */
export function nearestNode(root: PolicyNode, id: Identifier, depth: number): PolicyNode {
  let node = root
  while (node.depth < depth) {
    const child = node.children?.get(id[node.depth] ?? '')
    if (child === undefined) return node
    node = child
  }
  return node
}

/** Numbers and tags the nodes, and returns them in the order of their indexes. The tree must not grow afterwards. */
export function completeTree(root: PolicyNode): readonly PolicyNode[] {
  const nodes: PolicyNode[] = []
  const pending = [root]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    node.index = nodes.length
    node.subtreeEnd = nodes.push(node)
    for (const child of node.children?.values() ?? []) pending.push(child)
  }
  for (const { parent, subtreeEnd } of nodes.toReversed())
    if (parent !== undefined) parent.subtreeEnd = Math.max(parent.subtreeEnd, subtreeEnd)
  const vocabulary = listTags(nodes.flatMap(({ documents }) => documents.map(({ tags }) => tags)))
  for (const node of nodes) tagNode(node, node.parent?.tags ?? { ...noTags, vocabulary })
  return nodes
}

function tagNode(node: PolicyNode, parent: ObjectTags): void {
  const declared = node.documents.flatMap(({ tags }) => tags ?? [])
  node.tags = inheritTags(
    parent,
    declared.flatMap(({ namespace }) => (namespace === undefined ? [] : [{ tags: namespace }])),
  )
  const names = new Set(declared.flatMap(({ tables }) => [...tables.keys()]))
  if (names.size === 0) return
  const own = (name: string) => declared.flatMap(({ tables }) => tables.get(name) ?? [])
  node.tables = new Map([...names].map((name) => [name, inheritTags(node.tags, own(name))]))
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

/** Finds an object in the namespace of the first `depth` parts of the id. */
export function locate(
  root: PolicyNode,
  id: Identifier,
  depth: number,
  table: string | undefined,
): TreePosition {
  return createPosition(nearestNode(root, id, depth), depth, table)
}

/** The position of an object whose nearest node is given. */
export function createPosition(node: PolicyNode, depth: number, table: string | undefined): TreePosition {
  const declared = node.depth === depth && table !== undefined ? node.tables?.get(table) : undefined
  return { node, depth, table, tags: declared ?? node.tags }
}

/** Finds what policies declare about objects. */
export interface TagFinder {
  /** Returns the tags of an object, and the declared columns of a table. */
  findTags(position: ObjectPosition): ObjectTags
  /** Returns the names of the declared tables of a namespace. */
  listTaggedTables(namespace: Identifier): readonly string[]
}

/** The tree must be complete. */
export function createTagFinder(root: PolicyNode): TagFinder {
  return {
    findTags: ({ namespace, table }) => locate(root, namespace, namespace.length, table).tags,
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
  completeTree(root)
  return createTagFinder(root)
}
