import type { Identifier } from '../../catalog-api/identifiers.ts'
import { getNamespaceDepth } from '../../catalog-api/object-kinds.ts'
import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { RuleReference } from '../engine/decision.ts'
import { groupBy } from '../../lib/group-by.ts'
import { createNameMatcher } from '../conditions/name-pattern.ts'
import type { Implication } from '../language/deny-coverage.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'

/*
 * A second implementation of rule evaluation, for analyses that need all rules and the reason why each cannot decide.
 * The policy tree decides one request fast. A property test checks that both agree.
 */

export interface ObjectPosition {
  readonly namespace: Identifier
  readonly table: string | undefined
}

/**
 * Why a rule cannot decide for any caller. `stopped`: an allow that a namespace beneath does not inherit. `reserved`:
 * an allow of a permission that a namespace above reserves. `other-table`: it covers other names.
 */
export type Obstacle = 'stopped' | 'reserved' | 'other-table'

/** A rule about a permission, in a policy of the namespace of an object or of an ancestor. */
export interface ReachingRule {
  readonly document: PolicyDocument
  readonly rule: PolicyRule
  readonly obstacle: Obstacle | undefined
  /** Why it covers the permission; undefined if it names it. */
  readonly implication: Implication | undefined
}

/** Documents by `namespaceKey`. */
export type DocumentIndex = ReadonlyMap<string, readonly PolicyDocument[]>

export function objectPosition(kind: ObjectKind, id: Identifier): ObjectPosition {
  const depth = getNamespaceDepth(kind, id)
  return { namespace: id.slice(0, depth), table: id[depth] }
}

export function indexDocuments(documents: readonly PolicyDocument[]): DocumentIndex {
  return groupBy(documents, ({ namespace }) => namespaceKey(namespace))
}

/** Returns the policies of the namespaces from the root to the given one. */
export function documentsAbove(index: DocumentIndex, namespace: Identifier): readonly PolicyDocument[] {
  const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth))
  return paths.flatMap((path) => index.get(namespaceKey(path)) ?? [])
}

/** Returns the rules about the permission, from the root down; rules of one namespace keep their order. */
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
    const isOwnNamespace = depth === namespace.length
    const obstacleTo = ({ effect, tables }: PolicyRule): Obstacle | undefined => {
      if (effect === 'allow' && depth < floor) return 'stopped'
      if (effect === 'allow' && depth > ceiling) return 'reserved'
      const isOther =
        tables !== undefined && !(isOwnNamespace && table !== undefined && matchesAny(tables, table))
      return isOther ? 'other-table' : undefined
    }
    return document.rules
      .filter(({ permissions }) => permissions.has(permission))
      .map((rule) => ({
        document,
        rule,
        obstacle: obstacleTo(rule),
        implication: rule.implied.get(permission),
      }))
  })
}

/** Returns the rule that a decision names: the first one of the deepest namespace. */
export function mostSpecific<Rule extends ReachingRule>(rules: readonly Rule[]): Rule | undefined {
  const deepest = Math.max(...rules.map(({ document }) => namespaceDepth(document)))
  return rules.find(({ document }) => namespaceDepth(document) === deepest)
}

export function createRuleReference({
  document,
  rule,
}: Pick<ReachingRule, 'document' | 'rule'>): RuleReference {
  return {
    policy: document.name,
    rule: rule.id,
    file: document.file,
    line: rule.line,
    ...(rule.until !== undefined && { until: rule.until }),
  }
}

export function namespaceKey(id: Identifier): string {
  // Names contain no slash.
  return id.join('/')
}

function namespaceDepth({ namespace }: PolicyDocument): number {
  return namespace.length
}

/** Whether the name matches one of the patterns of tables. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => createNameMatcher(pattern)(name))
}
