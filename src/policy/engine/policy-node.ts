import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { isRestricting, type CompiledRule, type RestrictingRule } from './compiled-rule.ts'
import type { DenialStatus, PolicyDocument } from '../language/policy-document.ts'
import { noTags, type ObjectTags, type TaggedTable } from '../tags/object-tags.ts'
import { RuleIndex } from './rule-index.ts'

export interface PolicyNode {
  /** Last part of the namespace path; empty for the root. */
  readonly name: string
  readonly parent: PolicyNode | undefined
  readonly depth: number
  /** Whether allows of the namespaces above are not inherited. */
  stopsInheritance: boolean
  /** Permissions that policies of namespaces beneath cannot allow. */
  final: ReadonlySet<Permission>
  onDeny: DenialStatus | undefined
  contact: string | undefined
  /** Those of the namespace. */
  readonly documents: PolicyDocument[]
  /** Tags of the namespace and, by name, of its declared tables. Set by `tagNodes`. */
  tags: ObjectTags
  tables: ReadonlyMap<string, TaggedTable> | undefined
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
    onDeny: undefined,
    contact: undefined,
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

/** Yields the node and all nodes beneath it, each directly followed by its descendants. */
export function* walkSubtree(top: PolicyNode): Generator<PolicyNode> {
  const pending = [top]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node
    if (node.children) for (const child of node.children.values()) pending.push(child)
  }
}

/** Sets `index` and `subtreeEnd`; returns the nodes in that order. The tree must not grow afterwards. */
export function numberNodes(root: PolicyNode): readonly PolicyNode[] {
  const nodes: PolicyNode[] = []
  const pending = [root]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    node.index = nodes.length
    nodes.push(node)
    node.subtreeEnd = nodes.length
    if (node.children !== undefined) for (const child of node.children.values()) pending.push(child)
  }
  for (let last = nodes.length - 1; last >= 0; last--) {
    const node = nodes[last]
    if (node?.parent !== undefined) node.parent.subtreeEnd = Math.max(node.parent.subtreeEnd, node.subtreeEnd)
  }
  return nodes
}
