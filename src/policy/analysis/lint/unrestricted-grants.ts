import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { Permission } from '../../../catalog-api/permissions.ts'
import { constantResult } from './constant-condition.ts'
import { createNamespaceLimits } from './namespace-limits.ts'
import type { PolicySet } from '../../policy-set.ts'
import { indexRulesBySubject, rulesForSubject } from './rules-by-subject.ts'
import { matchSubjects, knownFromSubject, type Subject } from '../../engine/subject.ts'

/** Permissions on tables of a namespace that do not depend on the branch, each with a rule that allows it. */
export type UnrestrictedGrants = ReadonlyMap<Permission, LocatedRule>

/** Returns what callers named as `subject` are allowed on tables of a namespace whatever the branch. */
export type FindUnrestrictedGrants = (subject: Subject, namespace: Identifier) => UnrestrictedGrants

/** Conditions on anything but the branch are assumed to be true for allow rules and false for deny rules. */
export function createUnrestrictedGrantsFinder(set: PolicySet): FindUnrestrictedGrants {
  const allows = indexRulesBySubject(set.documents, 'allow')
  const denies = indexRulesBySubject(set.documents, 'deny')
  const { reservedPermissions, inheritanceFloor } = createNamespaceLimits(set)
  const found = new Map<string, UnrestrictedGrants>()

  return (subject, namespace) => {
    const key = JSON.stringify([subject.kind, subject.name, namespace])
    let grants = found.get(key)
    if (grants === undefined) found.set(key, (grants = find(subject, namespace)))
    return grants
  }

  function find(subject: Subject, namespace: Identifier): UnrestrictedGrants {
    const known = knownFromSubject(subject)
    const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth))
    const granted = new Map<Permission, LocatedRule>()
    for (const path of paths.slice(inheritanceFloor(namespace))) {
      const reserved = reservedPermissions(path)
      for (const located of rulesForSubject(allows, path, subject)) {
        const coversTables = located.rule.tables === undefined || path.length === namespace.length
        if (!coversTables || matchSubjects(located.rule.subjects, known) === false) continue
        for (const permission of located.rule.permissions) {
          if (!reserved.has(permission) && !granted.has(permission) && isUnrestricted(located, permission))
            granted.set(permission, located)
        }
      }
    }
    const denied = paths.flatMap((path) => rulesForSubject(denies, path, subject))
    for (const { rule } of denied) {
      if (rule.tables !== undefined || matchSubjects(rule.subjects, known) === false) continue
      for (const permission of rule.permissions) {
        const result =
          rule.condition === undefined ? 'true' : constantResult(rule.condition, permission, 'whole table')
        if (result !== undefined && result !== 'false') granted.delete(permission)
      }
    }
    return granted
  }
}

function isUnrestricted({ rule }: LocatedRule, permission: Permission): boolean {
  if (rule.condition === undefined || !rule.condition.facts.includes('branch')) return true
  return constantResult(rule.condition, permission, 'whole table') === 'true'
}
