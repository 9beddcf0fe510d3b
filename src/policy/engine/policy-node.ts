import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { inheritTags, listTags, noTags, type ObjectTags } from '../tags/object-tags.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { ObjectPosition } from './object-position.ts'

/** Rules of one namespace and one effect, in their order. */
export class RuleIndex {
  readonly all: CompiledRule[] = []
  readonly bySubject = new Map<number, CompiledRule[]>()
  readonly permissions = new Set<Permission>()

  add(rule: CompiledRule): void {
    this.all.push(rule)
    for (const permission of rule.permissions) this.permissions.add(permission)
    for (const subject of rule.subjects) appendTo(this.bySubject, subject, rule)
  }
}

/** Appends to a list of a map. */
export function appendTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

const noPermissions: ReadonlySet<Permission> = new Set()

/** A namespace of the tree of policies. The last members are set by `completeTree`. */
export class PolicyNode {
  readonly parent: PolicyNode | undefined
  readonly depth: number
  /** The policies of the namespace, and their rules in order. */
  readonly documents: PolicyDocument[] = []
  readonly rules: CompiledRule[] = []
  /** The same rules by effect; undefined if there are none. */
  denies: RuleIndex | undefined
  allows: RuleIndex | undefined
  /** Whether allows of the namespaces above are not inherited. */
  stopsInheritance = false
  /** Permissions that policies of namespaces beneath cannot allow. */
  final = noPermissions
  /** By their names; undefined if no policy covers a namespace beneath. */
  children: Map<string, PolicyNode> | undefined
  /** Tags of the namespace and, by name, of its declared tables. */
  tags = noTags
  tables: ReadonlyMap<string, ObjectTags> | undefined
  /** Index in depth-first order, and the index of the next node that is not beneath this one. */
  index = 0
  subtreeEnd = 0

  constructor(parent?: PolicyNode) {
    this.parent = parent
    this.depth = parent === undefined ? 0 : parent.depth + 1
  }

  addRule(rule: CompiledRule): void {
    this.rules.push(rule)
    const index =
      rule.effect === 'deny' ? (this.denies ??= new RuleIndex()) : (this.allows ??= new RuleIndex())
    index.add(rule)
  }
}

/** Adds a policy to the tree without its rules, and returns the node of its namespace. */
export function addDocument(root: PolicyNode, document: PolicyDocument): PolicyNode {
  let node = root
  for (const part of document.namespace) {
    const children: Map<string, PolicyNode> = (node.children ??= new Map())
    let child = children.get(part)
    if (child === undefined) children.set(part, (child = new PolicyNode(node)))
    node = child
  }
  node.documents.push(document)
  node.stopsInheritance ||= !document.inherit
  if (document.final.size > 0) node.final = new Set([...node.final, ...document.final])
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

/** Returns the node of the first `depth` parts of the id, or its nearest ancestor in the tree. */
export function nearestNode(root: PolicyNode, id: Identifier, depth = id.length): PolicyNode {
  let node = root
  while (node.depth < depth) {
    const child = node.children?.get(id[node.depth] ?? '')
    if (child === undefined) return node
    node = child
  }
  return node
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

/** The position of an object whose nearest node is given. */
export function createPosition(node: PolicyNode, depth: number, table: string | undefined): TreePosition {
  const declared = node.depth === depth && table !== undefined ? node.tables?.get(table) : undefined
  return { node, depth, table, tags: declared ?? node.tags }
}

export function locate(root: PolicyNode, { namespace, table }: ObjectPosition): TreePosition {
  return createPosition(nearestNode(root, namespace), namespace.length, table)
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
    findTags: (position) => locate(root, position).tags,
    listTaggedTables(namespace) {
      const node = nearestNode(root, namespace)
      return node.depth === namespace.length ? [...(node.tables?.keys() ?? [])] : []
    },
  }
}

/** Finds the tags that documents declare, before they are compiled. */
export function tagDocuments(documents: readonly PolicyDocument[]): TagFinder {
  const root = new PolicyNode()
  for (const document of documents) if (document.tags !== undefined) addDocument(root, document)
  completeTree(root)
  return createTagFinder(root)
}
