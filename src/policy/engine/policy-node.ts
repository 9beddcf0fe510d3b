import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { Evaluation, CompiledRule } from './compiled-rule.ts'
import type { DenialStatus } from '../language/policy-document.ts'
import { RuleIndex } from './rule-index.ts'

/** What the policies say of one namespace. */
export interface PolicyNode {
  /** The last name of its path; empty for the root. */
  readonly name: string
  readonly parent: PolicyNode | undefined
  readonly depth: number
  /** Whether what is allowed above stops here. */
  stopsInheritance: boolean
  /** What policies of namespaces beneath cannot allow. */
  final: ReadonlySet<Permission>
  onDeny: DenialStatus | undefined
  /** Of both effects, in order. */
  readonly rules: CompiledRule[]
  /** The same rules by effect; undefined if there are none. */
  denies: RuleIndex | undefined
  allows: RuleIndex | undefined
  /** Undefined where no policy speaks of a namespace beneath. */
  children: Map<string, PolicyNode> | undefined
  /** Its number among all nodes, and that of the first behind it that is not beneath it. */
  index: number
  subtreeEnd: number
}

const noPermissions: ReadonlySet<Permission> = new Set()

/** A root of which no policy speaks. */
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
    rules: [],
    denies: undefined,
    allows: undefined,
    children: undefined,
    index: 0,
    subtreeEnd: 0,
  }
}

/** The node of a namespace, made where there is none. */
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

/** Adds a rule of a policy for the namespace. Rules are added in their order. */
export function addRule(node: PolicyNode, rule: CompiledRule): void {
  node.rules.push(rule)
  const index = rule.effect === 'deny' ? (node.denies ??= new RuleIndex()) : (node.allows ??= new RuleIndex())
  index.add(rule)
}

/**
 * The rule that decides, of those from the namespace up to the root: the first deny found, or else the first allow,
 * unless a namespace above it reserves the permission (`final`).
 */
export function decisiveRule(start: PolicyNode, requested: Evaluation): CompiledRule | undefined {
  const { permission } = requested.input
  let allow: CompiledRule | undefined
  let isStopped = false
  for (let node: PolicyNode | undefined = start; node !== undefined; node = node.parent) {
    const table = node.depth === requested.depth ? requested.table : undefined
    const deny = node.denies?.first(requested, table)
    if (deny !== undefined) return deny
    if (node.final.has(permission)) allow = undefined
    if (allow === undefined && !isStopped) allow = node.allows?.first(requested, table)
    isStopped ||= node.stopsInheritance
  }
  return allow
}

/** The namespace of the first `depth` parts of the id, or the nearest above it that a policy speaks of. */
export function nearestNode(root: PolicyNode, id: Identifier, depth: number): PolicyNode {
  let node = root
  while (node.depth < depth) {
    const child = node.children?.get(id[node.depth] ?? '')
    if (child === undefined) return node
    node = child
  }
  return node
}

/** The namespace and everything beneath it that policies speak of: what lies beneath a namespace follows it at once. */
export function* walkSubtree(top: PolicyNode): Generator<PolicyNode> {
  const pending = [top]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node
    if (node.children) for (const child of node.children.values()) pending.push(child)
  }
}

/** Numbers the nodes of a tree, which must not grow any more, in the order in which it returns them. */
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
