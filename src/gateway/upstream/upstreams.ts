import type { Identifier } from '../../interface/identifiers.ts'
import { openUpstream, type Upstream, type UpstreamOptions } from './upstream.ts'

/** The catalogs behind the gateway. */
export interface Upstreams {
  readonly all: readonly Upstream[]
  /** The one that serves what lies at no other, and what is asked of no namespace. */
  readonly root: Upstream
  /** Where an object lies: at the upstream with the longest namespace that the id begins with, part by part. */
  of(id: Identifier): Upstream
  /** The names directly in a namespace that lead to where another upstream begins. */
  leadingOnFrom(namespace: Identifier): readonly string[]
  /** Whether another upstream than that of the root begins at this namespace or beneath it. */
  leadsOnFrom(namespace: Identifier): boolean
  close(): void
}

interface Branch {
  upstream: Upstream | undefined
  readonly below: Map<string, Branch>
}

/** Creates the upstreams; exactly one of them has no namespaces. */
export function createUpstreams(options: readonly UpstreamOptions[]): Upstreams {
  const all = options.map(openUpstream)
  const root = all.find(({ namespaces }) => namespaces === undefined)
  if (root === undefined) throw new Error('No upstream serves the root.')
  const tree: Branch = { upstream: root, below: new Map() }
  for (const upstream of all) {
    for (const namespace of upstream.namespaces ?? []) branchFor(tree, namespace).upstream = upstream
  }
  return {
    all,
    root,
    of: (id) => find(tree, id, root),
    leadingOnFrom: (namespace) => [...(branchAt(tree, namespace)?.below.keys() ?? [])],
    leadsOnFrom(namespace) {
      const branch = branchAt(tree, namespace)
      // Every branch but the root ends where an upstream begins.
      return branch !== undefined && (branch !== tree || branch.below.size > 0)
    },
    close() {
      for (const upstream of all) upstream.close()
    },
  }
}

function branchFor(tree: Branch, namespace: Identifier): Branch {
  let branch = tree
  for (const part of namespace) {
    let next = branch.below.get(part)
    if (next === undefined) branch.below.set(part, (next = { upstream: undefined, below: new Map() }))
    branch = next
  }
  return branch
}

function branchAt(tree: Branch, namespace: Identifier): Branch | undefined {
  let branch: Branch | undefined = tree
  for (const part of namespace) branch = branch?.below.get(part)
  return branch
}

function find(tree: Branch, id: Identifier, root: Upstream): Upstream {
  let found = root
  let branch: Branch | undefined = tree
  for (const part of id) {
    branch = branch.below.get(part)
    if (branch === undefined) break
    if (branch.upstream !== undefined) found = branch.upstream
  }
  return found
}
