import type { Identifier } from '../interface/identifiers.ts'
import type { Permission } from '../interface/permissions.ts'
import { constantOf } from './constant-condition.ts'
import { namespaceLimits } from './namespace-limits.ts'
import type { PolicyDocument } from './policy-document.ts'
import type { DocumentIndex } from './rule-reach.ts'
import { rulesBySubject, rulesNaming, type PlacedRule } from './rules-by-subject.ts'
import { concernOf, knownBy, type Subject } from './subject-logic.ts'

/** The permissions that callers have on tables of a namespace whatever the branch, each with a rule that allows it. */
export type OpenGrants = ReadonlyMap<Permission, PlacedRule>

/** Finds what callers whom a rule names so are allowed on tables of a namespace whatever the branch. */
export type FindOpenGrants = (subject: Subject, namespace: Identifier) => OpenGrants

/** Conditions on anything but the branch count as true, for rules that allow, and as false for rules that deny. */
export function openGrantsFinder(documents: readonly PolicyDocument[], index: DocumentIndex): FindOpenGrants {
  const allows = rulesBySubject(documents, 'allow')
  const denies = rulesBySubject(documents, 'deny')
  const { reservedAbove, floorOf } = namespaceLimits(index)
  const found = new Map<string, OpenGrants>()

  return (subject, namespace) => {
    const key = JSON.stringify([subject.kind, subject.name, namespace])
    let grants = found.get(key)
    if (grants === undefined) found.set(key, (grants = find(subject, namespace)))
    return grants
  }

  function find(subject: Subject, namespace: Identifier): OpenGrants {
    const known = knownBy(subject)
    const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth))
    const granted = new Map<Permission, PlacedRule>()
    for (const path of paths.slice(floorOf(namespace))) {
      const reserved = reservedAbove(path)
      for (const placed of rulesNaming(allows, path, subject)) {
        const isHere = placed.rule.tables === undefined || path.length === namespace.length
        if (!isHere || concernOf(placed.rule.subjects, known) === false) continue
        for (const permission of placed.rule.permissions) {
          if (!reserved.has(permission) && !granted.has(permission) && isOpen(placed, permission))
            granted.set(permission, placed)
        }
      }
    }
    const denied = paths.flatMap((path) => rulesNaming(denies, path, subject))
    for (const { rule } of denied) {
      if (rule.tables !== undefined || concernOf(rule.subjects, known) === false) continue
      for (const permission of rule.permissions) {
        const result =
          rule.condition === undefined ? 'true' : constantOf(rule.condition, permission, 'whole table')
        if (result !== undefined && result !== 'false') granted.delete(permission)
      }
    }
    return granted
  }
}

function isOpen({ rule }: PlacedRule, permission: Permission): boolean {
  if (rule.condition === undefined || !rule.condition.facts.includes('branch')) return true
  return constantOf(rule.condition, permission, 'whole table') === 'true'
}
