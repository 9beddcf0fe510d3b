import type { Principal } from '../identity/principal.ts'
import type { Identifier } from '../interface/identifiers.ts'
import type { ObjectKind } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import type { Decision } from './decision.ts'
import { matcherOf } from './name-pattern.ts'
import type { PolicyDocument, PolicyRule } from './policy-document.ts'
import { revisionOf } from './revision.ts'
import {
  addRule,
  anyTable,
  emptyIndex,
  firstApplying,
  type CompiledRule,
  type RuleIndex,
} from './rule-index.ts'

/** The policies of a folder, ready to decide; never changes. */
export interface PolicySet {
  /**
   * SHA-256 (64 hex digits) of what the policies say: sets of the same revision allow and deny the same. Layout,
   * comments, descriptions and the names of the files make no difference.
   */
  readonly revision: string
  /** How many documents it was made of. */
  readonly size: number
  /**
   * Whether the principal may use the permission on the object. Of several rules that allow, or several that deny,
   * the answer names the one of the deepest namespace, and of these the first by file and line.
   * The id of a namespace is its path; any other id is the path of a namespace and a name in it.
   */
  decide(principal: Principal, permission: Permission, kind: ObjectKind, id: Identifier): Decision
  /**
   * Whether the principal may use the permission on a namespace and on everything that is or could come to be
   * beneath it. It does not know what exists: a rule that denies something beneath denies, also if there is
   * nothing it would apply to, and so does a namespace with `inherit: false` beneath that does not itself allow
   * the permission. Denies where `decide` denies on the namespace. Takes longer the more policies lie beneath.
   */
  decideBeneath(principal: Principal, permission: Permission, id: Identifier): Decision
}

interface TrieNode {
  readonly parent: TrieNode | undefined
  readonly depth: number
  /** Whether what is allowed above stops here. */
  isBoundary: boolean
  allows: RuleIndex | undefined
  denies: RuleIndex | undefined
  readonly children: Map<string, TrieNode>
}

/** Compiles documents that are valid and whose names are unique, in the order of their files. */
export function compilePolicies(documents: readonly PolicyDocument[]): PolicySet {
  const revision = revisionOf(documents)
  const noRule: Decision = Object.freeze({ allowed: false, reason: 'no_rule', revision })
  const root = buildTrie(documents, revision)

  function decide(principal: Principal, permission: Permission, kind: ObjectKind, id: Identifier): Decision {
    const isNamespace = kind === 'namespace' || kind === 'none'
    return decisiveRule(root, principal, permission, id, !isNamespace)?.decision ?? noRule
  }

  function decideBeneath(principal: Principal, permission: Permission, id: Identifier): Decision {
    const own = decide(principal, permission, 'namespace', id)
    const node = nearest(root, id, id.length)
    // Where no policy speaks of the namespace, none speaks of what is beneath it.
    if (!own.allowed || node.depth < id.length) return own
    const denied = denyBeneath(node, principal, permission)?.decision
    return denied ?? (isStoppedBeneath(node, principal, permission) ? noRule : own)
  }

  return Object.freeze({ revision, size: documents.length, decide, decideBeneath })
}

/** Walks from the namespace of the object up to the root: the first rule found is of the deepest namespace. */
function decisiveRule(
  root: TrieNode,
  principal: Principal,
  permission: Permission,
  id: Identifier,
  isInNamespace: boolean,
): CompiledRule | undefined {
  const depth = isInNamespace ? id.length - 1 : id.length
  let allow: CompiledRule | undefined
  let isStopped = false
  for (let node: TrieNode | undefined = nearest(root, id, depth); node !== undefined; node = node.parent) {
    const table = isInNamespace && node.depth === depth ? id[depth] : undefined
    const deny = node.denies && firstApplying(node.denies, principal, permission, table)
    if (deny !== undefined) return deny
    if (allow === undefined && !isStopped && node.allows) {
      allow = firstApplying(node.allows, principal, permission, table)
    }
    isStopped ||= node.isBoundary
  }
  return allow
}

/** The namespace of the first `depth` parts of the id, or the nearest above it that a policy speaks of. */
function nearest(root: TrieNode, id: Identifier, depth: number): TrieNode {
  let node = root
  while (node.depth < depth) {
    const child = node.children.get(id[node.depth] ?? '')
    if (child === undefined) return node
    node = child
  }
  return node
}

/** The rule that denies the permission on something in the namespace or beneath: the deepest, of these the first. */
function denyBeneath(top: TrieNode, principal: Principal, permission: Permission): CompiledRule | undefined {
  let deny: CompiledRule | undefined
  let depth = 0
  for (const node of subtree(top)) {
    const rule = node.denies && firstApplying(node.denies, principal, permission, anyTable)
    const isDeeper = deny === undefined || node.depth > depth
    if (rule && (isDeeper || (node.depth === depth && rule.order < (deny?.order ?? 0)))) {
      deny = rule
      depth = node.depth
    }
  }
  return deny
}

/** Whether some namespace there takes nothing from above and does not itself allow the permission. */
function isStoppedBeneath(top: TrieNode, principal: Principal, permission: Permission): boolean {
  for (const node of subtree(top)) {
    if (!node.isBoundary) continue
    if (!node.allows || !firstApplying(node.allows, principal, permission, undefined)) return true
  }
  return false
}

function* subtree(top: TrieNode): Generator<TrieNode> {
  const pending = [top]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node
    for (const child of node.children.values()) pending.push(child)
  }
}

function buildTrie(documents: readonly PolicyDocument[], revision: string): TrieNode {
  const root = emptyNode(undefined)
  let order = 0
  for (const document of documents) {
    const node = reach(root, document.namespace)
    if (!document.inherit) node.isBoundary = true
    for (const rule of document.rules) {
      const index = rule.effect === 'allow' ? (node.allows ??= emptyIndex()) : (node.denies ??= emptyIndex())
      addRule(index, compileRule(rule, document, order++, revision))
    }
  }
  return root
}

function compileRule(
  rule: PolicyRule,
  document: PolicyDocument,
  order: number,
  revision: string,
): CompiledRule {
  const reference = Object.freeze({
    policy: document.name,
    rule: rule.id,
    file: document.file,
    line: rule.line,
  })
  return {
    order,
    subjects: rule.subjects,
    permissions: rule.permissions,
    tables: rule.tables?.map(matcherOf),
    decision: Object.freeze(
      rule.effect === 'allow'
        ? { allowed: true, rule: reference, revision }
        : { allowed: false, reason: 'denied', rule: reference, revision },
    ),
  }
}

function emptyNode(parent: TrieNode | undefined): TrieNode {
  const depth = parent === undefined ? 0 : parent.depth + 1
  return { parent, depth, isBoundary: false, allows: undefined, denies: undefined, children: new Map() }
}

function reach(root: TrieNode, namespace: Identifier): TrieNode {
  let node = root
  for (const part of namespace) {
    const child = node.children.get(part) ?? emptyNode(node)
    node.children.set(part, child)
    node = child
  }
  return node
}
