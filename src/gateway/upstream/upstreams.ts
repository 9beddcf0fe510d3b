import type { Identifier } from '../../catalog-api/identifiers.ts'
import { createUpstream, type Upstream, type UpstreamOptions } from './upstream.ts'

/** The catalogs behind the gateway. */
export interface Upstreams {
  readonly all: readonly Upstream[]
  /** The one that serves what lies at no other, and what is asked of no namespace. */
  readonly root: Upstream
  /** Where an object lies: at the upstream with the longest namespace that the id begins with, part by part. */
  forId(id: Identifier): Upstream
  /** The names directly in a namespace that lead to where another upstream begins. */
  listMountNames(namespace: Identifier): readonly string[]
  /** Whether another upstream than that of the root begins at this namespace or beneath it. */
  hasMountAtOrBelow(namespace: Identifier): boolean
  close(): void
}

interface MountNode {
  upstream: Upstream | undefined
  readonly children: Map<string, MountNode>
}

/** Creates the upstreams; exactly one of them has no namespaces. */
export function createUpstreams(options: readonly UpstreamOptions[]): Upstreams {
  const all = options.map(createUpstream)
  const root = all.find(({ namespaces }) => namespaces === undefined)
  if (root === undefined) throw new Error('no upstream serves the root')
  const tree: MountNode = { upstream: root, children: new Map() }
  for (const upstream of all) {
    for (const namespace of upstream.namespaces ?? []) getOrCreateNode(tree, namespace).upstream = upstream
  }
  return {
    all,
    root,
    forId: (id) => findUpstream(tree, id, root),
    listMountNames: (namespace) => [...(findNode(tree, namespace)?.children.keys() ?? [])],
    hasMountAtOrBelow(namespace) {
      const branch = findNode(tree, namespace)
      // Every branch but the root ends where an upstream begins.
      return branch !== undefined && (branch !== tree || branch.children.size > 0)
    },
    close() {
      for (const upstream of all) upstream.close()
    },
  }
}

function getOrCreateNode(tree: MountNode, namespace: Identifier): MountNode {
  let branch = tree
  for (const part of namespace) {
    let next = branch.children.get(part)
    if (next === undefined) branch.children.set(part, (next = { upstream: undefined, children: new Map() }))
    branch = next
  }
  return branch
}

function findNode(tree: MountNode, namespace: Identifier): MountNode | undefined {
  let branch: MountNode | undefined = tree
  for (const part of namespace) branch = branch?.children.get(part)
  return branch
}

function findUpstream(tree: MountNode, id: Identifier, root: Upstream): Upstream {
  let found = root
  let branch: MountNode | undefined = tree
  for (const part of id) {
    branch = branch.children.get(part)
    if (branch === undefined) break
    if (branch.upstream !== undefined) found = branch.upstream
  }
  return found
}
