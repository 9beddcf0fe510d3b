import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import { getOperation, operationNames } from '../../../catalog-api/operations.ts'
import { changePermissions, type Permission } from '../../../catalog-api/permissions.ts'
import type { Condition } from '../../conditions/condition.ts'
import { factsAvailableFor } from '../../conditions/permission-facts.ts'
import { constantResult } from './constant-condition.ts'
import { createFinding, type Finding } from './finding.ts'
import { groupBy } from '../../../lib/group-by.ts'
import type { FindUnrestrictedGrants, UnrestrictedGrants } from './unrestricted-grants.ts'
import { listNamedPermissions } from '../../language/deny-coverage.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { namespaceKey } from '../../engine/object-position.ts'
import type { PolicySet } from '../../policy-set.ts'
import { maxRules } from './rules-by-subject.ts'
import { matchSubjects, knownFromSubject, listSubjects, type Subject } from '../../engine/subject.ts'

const tableOperations = operationNames.map(getOperation).filter(({ object }) => object === 'table')

/**
 * One permission of each list together replaces a table with every branch: remove or overwrite it, then create it
 * again.
 */
const removePermissions: readonly Permission[] = [
  ...tableOperations.filter(({ removesName }) => removesName).map(({ name }) => name),
  'OverwriteTable',
]
const createPermissions: readonly Permission[] = tableOperations
  .filter(({ versions }) => versions === 'restart')
  .map(({ name }) => name)

/** Candidates tried per rule besides its own subjects; bounds the time of lint. */
const maxCandidates = 20

const changes: ReadonlySet<Permission> = new Set(changePermissions)

/** Finds rules that restrict branches although the same callers may replace whole tables. */
export function lintBranchBypass(set: PolicySet, findGrants: FindUnrestrictedGrants): readonly Finding[] {
  const findRuleBypass = createBypassFinder(set, findGrants)
  return set.documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      if (!restrictsBranches({ document, rule })) return []
      const bypass = findRuleBypass({ document, rule })
      return bypass === undefined
        ? []
        : [createFinding(document, rule, 'warning', 'way-around', describeBypass(bypass))]
    }),
  )
}

function restrictsBranches({ rule }: LocatedRule): boolean {
  const { condition } = rule
  if (condition?.facts.includes('branch') !== true) return false
  return listNamedPermissions(rule).some((permission) => isRestricted(permission, condition))
}

function isRestricted(permission: Permission, condition: Condition): boolean {
  return (
    changes.has(permission) &&
    factsAvailableFor(permission).has('branch') &&
    constantResult(condition, permission) === undefined
  )
}

/** Whether the rule itself denies the permission on a whole table. */
function deniesWholeTable({ rule }: LocatedRule, permission: Permission): boolean {
  const { effect, condition } = rule
  if (effect === 'allow' || condition === undefined || !rule.permissions.has(permission)) return false
  const result = constantResult(condition, permission, 'whole table')
  return result !== undefined && result !== 'false'
}

type Bypass = readonly (readonly [Permission, LocatedRule])[]

function describeBypass(bypass: Bypass): string {
  const names = bypass.map(([permission]) => permission).join(' and ')
  const rules = new Set(
    bypass.map(([, { document, rule }]) => `${document.name}/${rule.id} (${document.file}:${rule.line})`),
  )
  return (
    `depends on the branch, but ${[...rules].join(' and ')} allows the same callers ${names} whatever the branch, ` +
    'which together can replace every branch of a table; deny these too, under the same condition'
  )
}

function createBypassFinder(
  set: PolicySet,
  findGrants: FindUnrestrictedGrants,
): (own: LocatedRule) => Bypass | undefined {
  const replacing = rulesGrantingReplacement(set.documents)
  const beneath = indexRulesBeneath(replacing)
  const byNamespace = groupBy(replacing, ({ document }) => namespaceKey(document.namespace))

  return (own) => {
    const { namespace } = own.document
    for (const subject of listSubjects(own.rule.subjects)) {
      if (matchSubjects(own.rule.subjects, knownFromSubject(subject)) === false) continue
      const bypass = findBypass(own, subject, namespace, findGrants)
      if (bypass !== undefined) return bypass
    }
    // Subjects that the rule covers under another name, and tables of namespaces beneath.
    const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth))
    const others = [
      ...paths.flatMap((path) => byNamespace.get(namespaceKey(path))?.slice(0, maxRules) ?? []),
      ...(own.rule.tables === undefined ? beneath(namespace) : []),
    ]
    let tried = 0
    for (const other of others) {
      const isBeneath = other.document.namespace.length > namespace.length
      if (isBeneath && isInheritanceStopped(other.document.namespace, namespace, set)) continue
      const target = isBeneath ? other.document.namespace : namespace
      for (const subject of listSubjects(other.rule.subjects)) {
        const match = matchSubjects(own.rule.subjects, knownFromSubject(subject))
        if (match === false || (match !== true && !own.rule.subjects.any)) continue
        if (++tried > maxCandidates) return undefined
        const bypass = findBypass(own, subject, target, findGrants)
        if (bypass !== undefined) return bypass
      }
    }
    return undefined
  }
}

/** Returns how callers restricted by the rule can replace tables of the namespace; undefined if they cannot. */
function findBypass(
  own: LocatedRule,
  subject: Subject,
  namespace: Identifier,
  findGrants: FindUnrestrictedGrants,
): Bypass | undefined {
  const grants = findGrants(subject, namespace)
  const { condition, effect, tables } = own.rule
  // Callers who have the same permissions without the condition are not restricted by it.
  const restricted = listNamedPermissions(own.rule).filter(
    (permission) => condition && isRestricted(permission, condition),
  )
  if (effect === 'allow' && restricted.every((permission) => grants.has(permission))) return undefined
  const overlapsTables = ({ rule }: LocatedRule): boolean =>
    rule.tables === undefined || tables === undefined || rule.tables.some((one) => tables.includes(one))
  const isLeft = (permission: Permission): boolean => !deniesWholeTable(own, permission)
  const first = findFirstGrant(removePermissions.filter(isLeft), grants, overlapsTables)
  const second = findFirstGrant(createPermissions.filter(isLeft), grants, overlapsTables)
  return first && second && [first, second]
}

function findFirstGrant(
  permissions: readonly Permission[],
  grants: UnrestrictedGrants,
  isEligible: (located: LocatedRule) => boolean,
): readonly [Permission, LocatedRule] | undefined {
  for (const permission of permissions) {
    const located = grants.get(permission)
    if (located !== undefined && isEligible(located)) return [permission, located]
  }
  return undefined
}

/** Allow rules with a part of a replacement, in the order of their namespaces. */
function rulesGrantingReplacement(documents: readonly PolicyDocument[]): readonly LocatedRule[] {
  const permissions = [...removePermissions, ...createPermissions]
  return documents
    .flatMap((document) => document.rules.map((rule) => ({ document, rule })))
    .filter(
      ({ rule }) =>
        rule.effect === 'allow' && permissions.some((permission) => rule.permissions.has(permission)),
    )
}

/** Indexes rules by namespace. A subtree is contiguous in the order of the keys. */
function indexRulesBeneath(rules: readonly LocatedRule[]): (namespace: Identifier) => readonly LocatedRule[] {
  const sorted = rules
    .map((located) => ({ key: namespacePrefix(located.document.namespace), located }))
    .toSorted((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key)))

  return (namespace) => {
    const prefix = namespacePrefix(namespace)
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sorted[middle]?.key ?? '') <= prefix) low = middle + 1
      else high = middle
    }
    const found: LocatedRule[] = []
    for (let at = low; at < sorted.length && found.length < maxRules; at++) {
      const entry = sorted[at]
      if (entry?.key.startsWith(prefix) !== true) break
      found.push(entry.located)
    }
    return found
  }
}

function namespacePrefix(namespace: Identifier): string {
  return namespace.map((part) => `${part}/`).join('')
}

function isInheritanceStopped(lower: Identifier, upper: Identifier, set: PolicySet): boolean {
  return set
    .documentsAbove(lower)
    .some(({ inherit, namespace }) => !inherit && namespace.length > upper.length)
}
