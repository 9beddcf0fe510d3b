import { isWithin, type Identifier } from '../../../catalog-api/identifiers.ts'
import { getOperation, operationNames } from '../../../catalog-api/operations.ts'
import { changePermissions, type Permission } from '../../../catalog-api/permissions.ts'
import { matchesAny } from '../../conditions/name-pattern.ts'
import { factsAvailableFor } from '../../conditions/permission-facts.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { knownAsOnly, listSubjects, matchSubjects, type Subject } from '../../engine/subject.ts'
import { listNamedPermissions } from '../../language/deny-coverage.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { constantResult, findGrant, listPositions, maxCandidates } from './find-grant.ts'
import { createFinding, nameRule, type Finding } from './finding.ts'

const tableOperations = operationNames.map(getOperation).filter(({ object }) => object === 'table')

/**
 * One permission of each list together replaces a table with every branch: remove or overwrite it, then create it
 * again.
 */
const replacing: readonly (readonly Permission[])[] = [
  [...tableOperations.filter(({ removesName }) => removesName).map(({ name }) => name), 'OverwriteTable'],
  tableOperations.filter(({ versions }) => versions === 'restart').map(({ name }) => name),
]

const changes: ReadonlySet<Permission> = new Set(changePermissions)

/** Finds rules that restrict branches although the same callers may replace whole tables. */
export function lintBranchBypass(set: PolicySet): readonly Finding[] {
  const rules = set.documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
  const grants = rules.filter(
    ({ rule }) => rule.effect === 'allow' && replacing.flat().some((one) => rule.permissions.has(one)),
  )
  return rules.flatMap((own) => {
    const restricted = listRestricted(own.rule)
    if (restricted.length === 0) return []
    for (const [subject, namespace] of listCandidates(own, grants, set)) {
      const bypass = findBypass(own, restricted, subject, namespace, set)
      if (bypass !== undefined) return [createFinding(own, 'warning', 'way-around', describeBypass(bypass))]
    }
    return []
  })
}

/** The changes that the rule allows or denies on some branches only. */
function listRestricted(rule: PolicyRule): readonly Permission[] {
  const { condition } = rule
  if (condition?.facts.includes('branch') !== true) return []
  return listNamedPermissions(rule).filter(
    (permission) =>
      changes.has(permission) &&
      factsAvailableFor(permission).has('branch') &&
      constantResult(condition, permission) === undefined,
  )
}

/** Callers that the rule names, and those of grants that it covers under another name, with namespaces. */
function* listCandidates(
  own: LocatedRule,
  grants: readonly LocatedRule[],
  set: PolicySet,
): Generator<readonly [Subject, Identifier]> {
  const { namespace } = own.document
  const covers = (subject: Subject) => matchSubjects(own.rule.subjects, knownAsOnly(subject)) === true
  for (const subject of listSubjects(own.rule.subjects)) if (covers(subject)) yield [subject, namespace]
  let tried = 0
  for (const { document, rule } of grants) {
    const isBeneath = isWithin(document.namespace, namespace) && own.rule.tables === undefined
    const target = isBeneath ? document.namespace : namespace
    const isCut = set
      .documentsAbove(target)
      .some((one) => !one.inherit && one.namespace.length > namespace.length)
    if (isCut || !isWithin(target, document.namespace)) continue
    for (const subject of listSubjects(rule.subjects)) {
      if (!covers(subject)) continue
      if (++tried > maxCandidates) return
      yield [subject, target]
    }
  }
}

type Bypass = readonly (readonly [Permission, LocatedRule])[]

/** Returns how callers restricted by the rule can replace tables of the namespace; undefined if they cannot. */
function findBypass(
  { document, rule }: LocatedRule,
  restricted: readonly Permission[],
  subject: Subject,
  namespace: Identifier,
  set: PolicySet,
): Bypass | undefined {
  const { effect, tables } = rule
  const names = namespace.length === document.namespace.length ? tables : undefined
  for (const position of listPositions(set, namespace)) {
    const { table } = position
    if (names !== undefined && (table === undefined || !matchesAny(names, table))) continue
    const find = (permission: Permission) => findGrant(set, permission, position, subject)
    // Callers who have the same permissions without the condition are not restricted by it.
    if (effect === 'allow' && restricted.every((permission) => find(permission) !== undefined)) continue
    const bypass = replacing.flatMap((permissions) => {
      for (const permission of permissions) {
        const grant = find(permission)
        if (grant !== undefined) return [[permission, grant] as const]
      }
      return []
    })
    if (bypass.length === replacing.length) return bypass
  }
  return undefined
}

function describeBypass(bypass: Bypass): string {
  const names = bypass.map(([permission]) => permission).join(' and ')
  const rules = new Set(bypass.map(([, rule]) => nameRule(rule)))
  return (
    `depends on the branch, but ${[...rules].join(' and ')} allows the same callers ${names} whatever the branch, ` +
    'which together can replace every branch of a table; deny these too, under the same condition'
  )
}
