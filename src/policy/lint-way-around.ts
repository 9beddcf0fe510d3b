import type { Identifier } from '../interface/identifiers.ts'
import type { Permission } from '../interface/permissions.ts'
import { changesOfBranches } from './commit-demands.ts'
import { constantOf } from './constant-condition.ts'
import { about, type Finding } from './finding.ts'
import { grouped } from './grouped.ts'
import type { FindOpenGrants, OpenGrants } from './open-grants.ts'
import type { PolicyDocument } from './policy-document.ts'
import { documentsAbove, keyOf, type DocumentIndex } from './rule-reach.ts'
import { maximumRules, type PlacedRule } from './rules-by-subject.ts'
import { concernOf, knownBy, subjectsIn, type Subject } from './subject-logic.ts'

/** What together replaces a table with every branch: one that takes it away or overwrites it, and one that makes it. */
const removing = ['DeregisterTable', 'DropTable', 'OverwriteTable', 'RenameTable'] as const
const making = ['RegisterTable', 'CreateTable'] as const

/** The most callers that are tried for one rule, besides those whom it names: the time that lint takes must be bounded. */
const maximumTried = 20

/**
 * Rules that restrict branches while the same callers may replace whole tables, and requirements that allow it.
 * Requirements without `allowWholeTable` deny whole-table changes by themselves.
 */
export function lintWayAround(
  documents: readonly PolicyDocument[],
  index: DocumentIndex,
  findGrants: FindOpenGrants,
): readonly Finding[] {
  const findWay = wayFinder(documents, index, findGrants)
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const demand = rule.condition?.demand
      if (demand !== undefined) return allowedReplacement({ document, rule })
      if (!restrictsBranches({ document, rule })) return []
      const way = findWay({ document, rule })
      return way === undefined ? [] : [about(document, rule, 'warning', 'way-around', messageOf(way))]
    }),
  )
}

function allowedReplacement({ document, rule }: PlacedRule): readonly Finding[] {
  const allowed = rule.condition?.demand?.allowedWholeTable ?? new Set()
  const first = removing.find((permission) => permission !== 'RenameTable' && allowed.has(permission))
  if (first === undefined || !allowed.has('RegisterTable')) return []
  const message = `allows ${first} and RegisterTable on whole tables, which together can replace every branch of a table; list at most one of them in "allowWholeTable"`
  return [about(document, rule, 'warning', 'way-around', message)]
}

/** Whether the rule depends on the branch of a change. */
function restrictsBranches({ rule: { condition, permissions } }: PlacedRule): boolean {
  if (condition?.facts.includes('branch') !== true) return false
  return [...permissions].some((permission) => isRestricted(permission, condition))
}

function isRestricted(
  permission: Permission,
  condition: NonNullable<PlacedRule['rule']['condition']>,
): boolean {
  return changesOfBranches.has(permission) && constantOf(condition, permission) === undefined
}

/** Permissions that replace a table, each with the rule that allows it. */
type Way = readonly (readonly [Permission, PlacedRule])[]

function messageOf(way: Way): string {
  const names = way.map(([permission]) => permission).join(' and ')
  const rules = new Set(
    way.map(([, { document, rule }]) => `${document.name}/${rule.id} (${document.file}:${rule.line})`),
  )
  return (
    `depends on the branch, but ${[...rules].join(' and ')} allows the same callers ${names} whatever the branch, ` +
    'which together can replace every branch of a table; restrict these too, or require "branches" of commits'
  )
}

function wayFinder(
  documents: readonly PolicyDocument[],
  index: DocumentIndex,
  findGrants: FindOpenGrants,
): (own: PlacedRule) => Way | undefined {
  const replacing = replacingRules(documents)
  const beneath = rulesBeneath(replacing)
  const byNamespace = grouped(replacing, ({ document }) => keyOf(document.namespace))

  return (own) => {
    const { namespace } = own.document
    for (const subject of subjectsIn(own.rule.subjects)) {
      if (concernOf(own.rule.subjects, knownBy(subject)) === false) continue
      const way = wayOf(own, subject, namespace, findGrants)
      if (way !== undefined) return way
    }
    // Callers whom the rule concerns by another name, and tables of namespaces beneath.
    const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth))
    const others = [
      ...paths.flatMap((path) => byNamespace.get(keyOf(path))?.slice(0, maximumRules) ?? []),
      ...(own.rule.tables === undefined ? beneath(namespace) : []),
    ]
    let tried = 0
    for (const other of others) {
      const isBeneath = other.document.namespace.length > namespace.length
      if (isBeneath && isBehindBoundary(other.document.namespace, namespace, index)) continue
      const place = isBeneath ? other.document.namespace : namespace
      for (const subject of subjectsIn(other.rule.subjects)) {
        const concern = concernOf(own.rule.subjects, knownBy(subject))
        if (concern === false || (concern !== true && !own.rule.subjects.any)) continue
        if (++tried > maximumTried) return undefined
        const way = wayOf(own, subject, place, findGrants)
        if (way !== undefined) return way
      }
    }
    return undefined
  }
}

/** How callers who are restricted by the rule can replace tables of the namespace. */
function wayOf(
  own: PlacedRule,
  subject: Subject,
  namespace: Identifier,
  findGrants: FindOpenGrants,
): Way | undefined {
  const grants = findGrants(subject, namespace)
  const { condition, effect, permissions, tables } = own.rule
  // Callers who are allowed all that without the condition are not restricted by it.
  const restricted = [...permissions].filter((permission) => condition && isRestricted(permission, condition))
  if (effect === 'allow' && restricted.every((permission) => grants.has(permission))) return undefined
  const sharesTables = ({ rule }: PlacedRule): boolean =>
    rule.tables === undefined || tables === undefined || rule.tables.some((one) => tables.includes(one))
  const first = firstOf(removing, grants, sharesTables)
  const second = firstOf(making, grants, sharesTables)
  return first && second && [first, second]
}

function firstOf(
  permissions: readonly Permission[],
  grants: OpenGrants,
  isFitting: (placed: PlacedRule) => boolean,
): readonly [Permission, PlacedRule] | undefined {
  for (const permission of permissions) {
    const placed = grants.get(permission)
    if (placed !== undefined && isFitting(placed)) return [permission, placed]
  }
  return undefined
}

/** The rules that allow a part of a replacement, in the order of their namespaces. */
function replacingRules(documents: readonly PolicyDocument[]): readonly PlacedRule[] {
  const parts: readonly Permission[] = [...removing, ...making]
  return documents
    .flatMap((document) => document.rules.map((rule) => ({ document, rule })))
    .filter(
      ({ rule }) => rule.effect === 'allow' && parts.some((permission) => rule.permissions.has(permission)),
    )
}

/** Finds the rules of namespaces beneath one: in the order of their keys, these lie together. */
function rulesBeneath(rules: readonly PlacedRule[]): (namespace: Identifier) => readonly PlacedRule[] {
  const sorted = rules
    .map((placed) => ({ key: prefixOf(placed.document.namespace), placed }))
    .toSorted((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key)))

  return (namespace) => {
    const prefix = prefixOf(namespace)
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sorted[middle]?.key ?? '') <= prefix) low = middle + 1
      else high = middle
    }
    const found: PlacedRule[] = []
    for (let at = low; at < sorted.length && found.length < maximumRules; at++) {
      const entry = sorted[at]
      if (entry?.key.startsWith(prefix) !== true) break
      found.push(entry.placed)
    }
    return found
  }
}

function prefixOf(namespace: Identifier): string {
  return namespace.map((part) => `${part}/`).join('')
}

function isBehindBoundary(lower: Identifier, upper: Identifier, index: DocumentIndex): boolean {
  return documentsAbove(index, lower).some(
    ({ inherit, namespace }) => !inherit && namespace.length > upper.length,
  )
}
