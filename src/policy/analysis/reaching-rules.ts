import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { RuleReference } from '../engine/decision.ts'
import { groupBy } from '../../lib/group-by.ts'
import { createNameMatcher } from '../conditions/name-pattern.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'

/*
 * The rules of the language once more, for those who ask about the policies instead of asking the policies: who may
 * do something, what changes, which rule cannot decide. The trie answers one caller fast; here all rules are seen,
 * with what keeps each from deciding. That both say the same is a property test.
 */

/** Where an object stands: a namespace, and the name in it unless the namespace itself is meant. */
export interface ObjectPosition {
  readonly namespace: Identifier
  readonly table: string | undefined
}

/**
 * What keeps a rule from deciding whoever calls. `stopped`: an allow that a namespace beneath it does not inherit.
 * `reserved`: an allow of what a namespace above it keeps to itself. `other-table`: it is about other names.
 */
export type Obstacle = 'stopped' | 'reserved' | 'other-table'

/** A rule about a permission, in a policy of the namespace of an object or of one above. */
export interface ReachingRule {
  readonly document: PolicyDocument
  readonly rule: PolicyRule
  readonly obstacle: Obstacle | undefined
}

/** Documents by their namespace. */
export type DocumentIndex = ReadonlyMap<string, readonly PolicyDocument[]>

/** The position of the object with that id. */
export function objectPosition(kind: ObjectKind, id: Identifier): ObjectPosition {
  return kind === 'namespace' || kind === 'none'
    ? { namespace: id, table: undefined }
    : { namespace: id.slice(0, -1), table: id.at(-1) }
}

/** The documents, each list in their order. */
export function indexDocuments(documents: readonly PolicyDocument[]): DocumentIndex {
  return groupBy(documents, ({ namespace }) => namespaceKey(namespace))
}

/** The policies of the namespaces from the root to that one. */
export function documentsAbove(index: DocumentIndex, namespace: Identifier): readonly PolicyDocument[] {
  const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth))
  return paths.flatMap((path) => index.get(namespaceKey(path)) ?? [])
}

/** The rules about the permission from the root down, those of one namespace in the order of their files. */
export function rulesReaching(
  index: DocumentIndex,
  { namespace, table }: ObjectPosition,
  permission: Permission,
): readonly ReachingRule[] {
  const documents = documentsAbove(index, namespace)
  const floor = Math.max(0, ...documents.filter(({ inherit }) => !inherit).map(namespaceDepth))
  const ceiling = Math.min(...documents.filter(({ final }) => final.has(permission)).map(namespaceDepth))
  return documents.flatMap((document) => {
    const depth = document.namespace.length
    const isHere = depth === namespace.length
    const obstacleTo = ({ effect, tables }: PolicyRule): Obstacle | undefined => {
      if (effect === 'allow' && depth < floor) return 'stopped'
      if (effect === 'allow' && depth > ceiling) return 'reserved'
      const isOther = tables !== undefined && !(isHere && table !== undefined && matchesAny(tables, table))
      return isOther ? 'other-table' : undefined
    }
    return document.rules
      .filter(({ permissions }) => permissions.has(permission))
      .map((rule) => ({ document, rule, obstacle: obstacleTo(rule) }))
  })
}

/** Of rules that apply, the one that a decision names: of the deepest namespace, there the first. */
export function mostSpecific<Rule extends ReachingRule>(rules: readonly Rule[]): Rule | undefined {
  const deepest = Math.max(...rules.map(({ document }) => namespaceDepth(document)))
  return rules.find(({ document }) => namespaceDepth(document) === deepest)
}

/** Where a rule stands. */
export function createRuleReference({
  document,
  rule,
}: Pick<ReachingRule, 'document' | 'rule'>): RuleReference {
  return { policy: document.name, rule: rule.id, file: document.file, line: rule.line }
}

/** An id as the key of a map. */
export function namespaceKey(id: Identifier): string {
  // No name holds a slash.
  return id.join('/')
}

function namespaceDepth({ namespace }: PolicyDocument): number {
  return namespace.length
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => createNameMatcher(pattern)(name))
}
