import type { Identifier } from '../interface/identifiers.ts'
import type { DenialStatus } from './policy-document.ts'
import { none, type PermissionBits } from './permission-bits.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { Place } from './packed-tree.ts'

/** What the policies say of one namespace. */
export interface PolicyNode {
  /** The last name of its path; empty for the root. */
  readonly name: string
  readonly parent: PolicyNode | undefined
  readonly depth: number
  /** Whether what is allowed above stops here. */
  isBoundary: boolean
  /** What policies of namespaces beneath cannot allow. */
  final: PermissionBits
  onDeny: DenialStatus | undefined
  /** Of both effects, in order. */
  rules: CompiledRule[]
  /** Undefined where no policy speaks of a namespace beneath. */
  children: Map<string, PolicyNode> | undefined
  /** Its number among all nodes, and that of the first behind it that is not beneath it. */
  number: number
  end: number
  /** Where it lies when the tree is packed. */
  place: Place
}

/** A root of which no policy speaks. */
export function emptyRoot(): PolicyNode {
  return emptyNode('', undefined)
}

function emptyNode(name: string, parent: PolicyNode | undefined): PolicyNode {
  return {
    name,
    parent,
    depth: parent === undefined ? 0 : parent.depth + 1,
    isBoundary: false,
    final: none,
    onDeny: undefined,
    rules: [],
    children: undefined,
    number: 0,
    end: 0,
    place: 0,
  }
}

/** The node of a namespace, made where there is none. */
export function reach(root: PolicyNode, namespace: Identifier): PolicyNode {
  let node = root
  for (const part of namespace) {
    const children: Map<string, PolicyNode> = (node.children ??= new Map())
    let child = children.get(part)
    if (child === undefined) children.set(part, (child = emptyNode(part, node)))
    node = child
  }
  return node
}

/** Adds the rules of a policy; most namespaces have one policy, whose list, no longer than it must be, becomes theirs. */
export function addRules(node: PolicyNode, rules: CompiledRule[]): void {
  if (node.rules.length === 0) node.rules = rules
  else for (const rule of rules) node.rules.push(rule)
}

/** The namespace of the first `depth` parts of the id, or the nearest above it that a policy speaks of. */
export function nearest(root: PolicyNode, id: Identifier, depth: number): PolicyNode {
  let node = root
  while (node.depth < depth) {
    const child = node.children?.get(id[node.depth] ?? '')
    if (child === undefined) return node
    node = child
  }
  return node
}

/** The namespace and everything beneath it that policies speak of: what lies beneath a namespace follows it at once. */
export function* subtree(top: PolicyNode): Generator<PolicyNode> {
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
    node.number = nodes.length
    nodes.push(node)
    node.end = nodes.length
    if (node.children !== undefined) for (const child of node.children.values()) pending.push(child)
  }
  for (let last = nodes.length - 1; last >= 0; last--) {
    const node = nodes[last]
    if (node?.parent !== undefined) node.parent.end = Math.max(node.parent.end, node.end)
  }
  return nodes
}
