import type { Identifier } from '../interface/identifiers.ts'
import type { DenialStatus } from './policy-document.ts'
import { none, type PermissionBits } from './permission-bits.ts'
import type { Asked, RuleIndex } from './rule-index.ts'

/** What the policies say of one namespace. */
export interface PolicyNode {
  readonly parent: PolicyNode | undefined
  readonly depth: number
  /** Whether what is allowed above stops here. */
  isBoundary: boolean
  /** What policies of namespaces beneath cannot allow. */
  final: PermissionBits
  onDeny: DenialStatus | undefined
  allows: RuleIndex | undefined
  denies: RuleIndex | undefined
  /** Undefined where no policy speaks of a namespace beneath. */
  children: Map<string, PolicyNode> | undefined
}

/** A namespace that no policy speaks of. */
export function emptyNode(parent: PolicyNode | undefined): PolicyNode {
  return {
    parent,
    depth: parent === undefined ? 0 : parent.depth + 1,
    isBoundary: false,
    final: none,
    onDeny: undefined,
    allows: undefined,
    denies: undefined,
    children: undefined,
  }
}

/** The node of a namespace, made where there is none. */
export function reach(root: PolicyNode, namespace: Identifier): PolicyNode {
  let node = root
  for (const part of namespace) {
    const children: Map<string, PolicyNode> = (node.children ??= new Map())
    const child = children.get(part) ?? emptyNode(node)
    children.set(part, child)
    node = child
  }
  return node
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

/** The table that is asked about, if it lies directly in the namespace. */
export function tableIn(node: PolicyNode, { table, depth }: Asked): string | undefined {
  return node.depth === depth ? table : undefined
}

/** The namespace and everything beneath it that policies speak of. */
export function* subtree(top: PolicyNode): Generator<PolicyNode> {
  const pending = [top]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node
    if (node.children) pending.push(...node.children.values())
  }
}
