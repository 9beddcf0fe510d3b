import type { Identifier, Permission } from '../../catalog-api/index.ts'
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

export function appendTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

const noPermissions: ReadonlySet<Permission> = new Set()

export class PolicyNode {
  readonly parent: PolicyNode | undefined
  readonly depth: number
  /** By their names; undefined if no policy covers a namespace beneath. */
  children: Map<string, PolicyNode> | undefined
  /** The policies of the namespace, and their rules in order. */
  readonly documents: PolicyDocument[] = []
  readonly rules: CompiledRule[] = []
  /** The same rules by effect; undefined if there are none. */
  denies: RuleIndex | undefined
  allows: RuleIndex | undefined
  /** The denies that leave a part of a table. */
  readonly restrictions: CompiledRule[] = []
  /** Whether allows of the namespaces above are not inherited. */
  stopsInheritance = false
  /** Permissions that policies of namespaces beneath cannot allow. */
  final = noPermissions
  /** Tags of the namespace and, by name, of its declared tables. */
  tags = noTags
  tables: ReadonlyMap<string, ObjectTags> = new Map()
  /** Index in depth-first order, and the index of the next node that is not beneath this one. */
  index = 0
  subtreeEnd = 0

  constructor(parent?: PolicyNode) {
    this.parent = parent
    this.depth = parent === undefined ? 0 : parent.depth + 1
  }

  addDocument(document: PolicyDocument): void {
    this.documents.push(document)
    this.stopsInheritance ||= !document.inherit
    if (document.final.size > 0) this.final = new Set([...this.final, ...document.final])
  }

  addRule(rule: CompiledRule): void {
    this.rules.push(rule)
    const index =
      rule.effect === 'deny' ? (this.denies ??= new RuleIndex()) : (this.allows ??= new RuleIndex())
    index.add(rule)
    if (rule.rule.restriction !== undefined) this.restrictions.push(rule)
  }

  /** Sets the tags, which the policies of the namespace add to those of the parent. */
  addTags(parent: ObjectTags): void {
    const declared = this.documents.flatMap(({ tags }) => tags ?? [])
    this.tags = inheritTags(
      parent,
      declared.flatMap(({ namespace }) => (namespace === undefined ? [] : [{ tags: namespace }])),
    )
    const names = new Set(declared.flatMap(({ tables }) => [...tables.keys()]))
    const ofTable = (name: string) => declared.flatMap(({ tables }) => tables.get(name) ?? [])
    this.tables = new Map([...names].map((name) => [name, inheritTags(this.tags, ofTable(name))]))
  }
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

export function createPosition(node: PolicyNode, depth: number, table: string | undefined): TreePosition {
  const declared = node.depth === depth && table !== undefined ? node.tables.get(table) : undefined
  return { node, depth, table, tags: declared ?? node.tags }
}

/** The namespaces of policies, with their declarations about objects. Rules are added to its nodes. */
export class PolicyTree {
  readonly #root = new PolicyNode()
  /** In depth-first order. */
  readonly nodes: PolicyNode[] = []

  constructor(documents: readonly PolicyDocument[]) {
    for (const document of documents) this.#createNode(document.namespace).addDocument(document)
    this.#complete(this.#root, { ...noTags, vocabulary: listTags(documents.map(({ tags }) => tags)) })
  }

  #createNode(namespace: Identifier): PolicyNode {
    let node = this.#root
    for (const part of namespace) {
      const children: Map<string, PolicyNode> = (node.children ??= new Map())
      let child = children.get(part)
      if (child === undefined) children.set(part, (child = new PolicyNode(node)))
      node = child
    }
    return node
  }

  #complete(node: PolicyNode, parentTags: ObjectTags): void {
    node.index = this.nodes.length
    this.nodes.push(node)
    node.addTags(parentTags)
    for (const child of node.children?.values() ?? []) this.#complete(child, node.tags)
    node.subtreeEnd = this.nodes.length
  }

  /** Returns the node of the first `depth` parts of the id, or its nearest ancestor in the tree. */
  nearestNode(id: Identifier, depth = id.length): PolicyNode {
    let node = this.#root
    while (node.depth < depth) {
      const child = node.children?.get(id[node.depth] ?? '')
      if (child === undefined) return node
      node = child
    }
    return node
  }

  locate({ namespace, table }: ObjectPosition): TreePosition {
    return createPosition(this.nearestNode(namespace), namespace.length, table)
  }

  /** Returns the tags of an object, and the declared columns of a table. */
  findTags(position: ObjectPosition): ObjectTags {
    return this.locate(position).tags
  }

  listTaggedTables(namespace: Identifier): readonly string[] {
    const node = this.nearestNode(namespace)
    return node.depth === namespace.length ? [...node.tables.keys()] : []
  }

  /** From the root to the given namespace. */
  documentsAbove(namespace: Identifier): readonly PolicyDocument[] {
    const above: PolicyDocument[][] = []
    let node: PolicyNode | undefined = this.nearestNode(namespace)
    for (; node !== undefined; node = node.parent) above.unshift(node.documents)
    return above.flat()
  }
}
