import { isSameIdentifier, isWithin, type Identifier } from '../../../catalog-api/identifiers.ts'
import {
  getOperation,
  isOperationName,
  operationNames,
  type Operation,
} from '../../../catalog-api/operations.ts'
import { changePermissions, permissionNames, type Permission } from '../../../catalog-api/permissions.ts'
import { destinationPermission, isInNamespace } from '../../../catalog-api/requirements.ts'
import { groupBy } from '../../../lib/group-by.ts'
import type { OperationFacts } from '../../conditions/authorization-request.ts'
import type { Condition } from '../../conditions/condition.ts'
import { unknown } from '../../conditions/fact.ts'
import { matchesAny, sampleName } from '../../conditions/name-pattern.ts'
import { constantFacts, factsAvailableFor } from '../../conditions/permission-facts.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { readsPart, type ObjectPosition } from '../../engine/object-position.ts'
import {
  anonymousSubject,
  knownAsOnly,
  listSubjects,
  matchSubjects,
  type Subject,
} from '../../engine/subject.ts'
import { listNamedPermissions } from '../../language/policy-vocabulary.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { listNameClasses } from '../name-classes.ts'
import { createFinding, nameRule, type Finding } from './finding.ts'
import { constantResult } from './lint-conditions.ts'

/** Where permissions are needed: on what the rule is about, on something else, outside of its namespace, or at the root. */
type Place = 'own' | 'other' | 'outside' | 'root'

/** A way around a rule. */
interface Way {
  /** All of them are needed: at one position of the place, one permission of each list. */
  readonly needs: readonly (readonly [place: Place, ...lists: (readonly Permission[])[]])[]
  readonly effect: string
}

function namesOf(is: (operation: Operation) => boolean): readonly Permission[] {
  return operationNames.filter((name) => is(getOperation(name)))
}

function states({ facts }: Operation, fact: string): boolean {
  return facts.some(([name]) => name === fact)
}

/** Removing or overwriting a table and creating it again replaces it with every branch. */
const replacement: Way = {
  needs: [
    [
      'own',
      [...namesOf(({ object, removesName }) => object === 'table' && removesName), 'OverwriteTable'],
      namesOf(({ object, versions }) => object === 'table' && versions === 'restart'),
    ],
  ],
  effect: 'replaces it with every branch',
}

/** Ways to use the content of a table that a deny of tables does not cover. */
const waysAroundTables: readonly Way[] = [
  ...namesOf((one) => one.object === 'table' && one.effect === 'change' && states(one, 'location')).map(
    (name): Way => ({
      needs: [['other', [name], ['ChooseLocation']]],
      effect: 'gives its location another name',
    }),
  ),
  ...namesOf((one) => states(one, 'manifestPath')).map((name): Way => ({
    needs: [['other', [name]]],
    effect: 'commits its files to another table',
  })),
  { needs: [['root', ['ReadAnyTable']]], effect: 'copies it by SQL or code' },
  { needs: [['own', ['VendCredentials']]], effect: 'gives access to its files past the gateway' },
]

/** Moves to a name of the caller's choice: they can leave the namespace of a rule without `tables`. */
const waysOutOfNamespace: readonly Way[] = namesOf((one) => one.moves && states(one, 'newName')).map(
  (name) => ({
    needs: [
      ['own', [name]],
      ['outside', [destinationPermission]],
    ],
    effect: 'elsewhere',
  }),
)

/** Callers, namespaces and tables tried per rule; bounds the time of lint. */
const maxCandidates = 20

/**
 * Finds rules whose callers can get around them: rules on branches, if the same callers may replace whole tables; denies of
 * tables or of a namespace, if they can use the content otherwise; and denies for every caller that forget anonymous ones. A
 * caller is one subject and nothing else, so that exceptions of the rule do not excuse it.
 */
export function lintBypass(set: PolicySet): readonly Finding[] {
  const rules = set.documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
  const search = createSearch(set, rules)
  return rules.flatMap((own) => {
    const bypasses = [findBranchBypass(own, search), findTableBypass(own, search)]
    const messages = bypasses.flatMap((message) => message ?? [])
    const anonymous = findAnonymous(own, search)
    return [
      ...messages.map((message) => createFinding(own, 'warning', 'way-around', message)),
      ...(anonymous === undefined ? [] : [createFinding(own, 'warning', 'anonymous', anonymous)]),
    ]
  })
}

function findBranchBypass(own: LocatedRule, { find, findGrant, listCallers }: Search): string | undefined {
  const restricted = listRestrictedByBranch(own.rule)
  if (restricted.length === 0) return undefined
  // Callers who have the same permissions without the condition are not restricted by it.
  const isFree = (caller: Subject, position: ObjectPosition): boolean =>
    own.rule.effect === 'allow' && restricted.every((one) => findGrant(one, position, caller) !== undefined)
  const found = find(own, replacement, listCallers(own, [replacement]), { isFree })
  if (found === undefined) return undefined
  const names = found.map(({ permission }) => permission).join(' and ')
  const by = new Set(found.map((grant) => nameRule(grant.by)))
  return (
    `depends on the branch, but ${[...by].join(' and ')} allows the same callers ${names} whatever the branch, ` +
    'which together can replace every branch of a table; deny these too, under the same condition'
  )
}

function findTableBypass(own: LocatedRule, { find, listCallers }: Search): string | undefined {
  const { tables, restriction, condition } = own.rule
  const { namespace } = own.document
  if (!protectsContent(own.rule) || (tables === undefined && namespace.length === 0)) return undefined
  // The folders of the namespace itself contain its tables, and others do not.
  const holds: Holds = (one, position) =>
    one.text === condition?.text || (isOnFolders(one) && !isSameIdentifier(namespace, position.namespace))
  const ways = tables === undefined ? waysOutOfNamespace : waysAroundTables
  const callers = listCallers(own, ways)
  const open = ways.flatMap((way) => {
    const grants = find(own, way, callers, { holds })
    if (grants === undefined) return []
    const by = grants.map(
      ({ by: { document, rule } }) => `${document.name}/${rule.id}, ${document.file}:${rule.line}`,
    )
    const names = grants.map(({ permission }) => permission).join(' with ')
    return [{ names, text: `${way.effect} (${[...new Set(by)].join(' and ')})` }]
  })
  if (open.length === 0) return undefined
  const described = [...groupBy(open, ({ text }) => text)].map(
    ([text, alike]) => `${alike.map(({ names }) => names).join(' or ')} ${text}`,
  )
  const what =
    tables === undefined
      ? 'denies tables of its namespace, but the same callers can move them out of it'
      : restriction === undefined
        ? 'denies tables, but the same callers can use their content otherwise'
        : 'restricts tables, but the same callers can reach all of their content otherwise'
  return `${what}: ${described.join('; ')}`
}

/** Finds a permission that a deny for all authenticated callers leaves to anonymous callers. */
function findAnonymous(own: LocatedRule, { find }: Search): string | undefined {
  const { effect, subjects, permissions, restriction } = own.rule
  if (effect === 'allow' || !subjects.any || subjects.anonymous) return undefined
  const denied = [...permissions, ...(restriction === undefined ? [] : permissionNames.filter(readsPart))]
  const [grant] = find(own, { needs: [['own', denied]], effect: '' }, [anonymousSubject]) ?? []
  if (grant === undefined) return undefined
  return `does not cover anonymous callers, which ${nameRule(grant.by)} allows the same; expected "everyone: true"`
}

interface Grant {
  readonly permission: Permission
  readonly by: LocatedRule
}

/** Whether a condition is assumed to be true at a position. */
type Holds = (condition: Condition, position: ObjectPosition) => boolean

type Search = ReturnType<typeof createSearch>

interface SearchOptions {
  readonly holds?: Holds
  /** Whether the rule does not bind the caller at a position. */
  readonly isFree?: (caller: Subject, position: ObjectPosition) => boolean
}

function createSearch(set: PolicySet, rules: readonly LocatedRule[]) {
  const allows = rules.filter(({ rule }) => rule.effect === 'allow')
  const grantsByWay = new WeakMap<Way, readonly LocatedRule[]>()

  /** Rules that allow something of what a way needs. */
  function listGrants(way: Way): readonly LocatedRule[] {
    let grants = grantsByWay.get(way)
    if (grants === undefined) {
      const permissions = way.needs.flatMap(([, ...lists]) => lists.flat())
      grants = allows.filter(({ rule }) => permissions.some((one) => rule.permissions.has(one)))
      grantsByWay.set(way, grants)
    }
    return grants
  }

  /** Callers that the rule covers: those that it names, and those of grants where it reaches, and above. */
  function listCallers({ document, rule }: LocatedRule, ways: readonly Way[]): readonly Subject[] {
    const { namespace } = document
    const grants = ways.flatMap(listGrants).filter((grant) => {
      const other = grant.document.namespace
      return isWithin(namespace, other) || (rule.tables === undefined && isWithin(other, namespace))
    })
    const own = listSubjects(rule.subjects)
    const named = [...own, ...grants.flatMap((grant) => listSubjects(grant.rule.subjects))]
    const covered = named.filter((subject) => isNamed(rule, subject))
    const distinct = new Map(covered.map((subject) => [JSON.stringify(subject), subject]))
    return [...distinct.values()].slice(0, own.length + maxCandidates)
  }

  /** Positions where the caller may be granted something. */
  function* listPositions(own: LocatedRule, caller: Subject, way: Way): Generator<ObjectPosition> {
    const { namespace } = own.document
    for (const table of own.rule.tables ?? []) yield { namespace, table: sampleName(table) }
    const granting = listGrants(way).filter(({ rule }) => isNamed(rule, caller))
    const others = granting.map(({ document }) => document.namespace).slice(0, maxCandidates)
    for (const one of [namespace, ...others, []]) {
      yield { namespace: one, table: undefined }
      for (const table of listNameClasses([set], one).slice(0, maxCandidates)) yield { namespace: one, table }
    }
  }

  /**
   * Returns a rule by which a caller that is the subject and nothing else may change a whole table: the conditions of allows
   * are assumed to be true, and those of denies to be false, unless they are on the branch or `holds` says that they are true.
   */
  function findGrant(
    permission: Permission,
    position: ObjectPosition,
    subject: Subject,
    holds: Holds = () => false,
  ): LocatedRule | undefined {
    const operation = wholeTableFacts(permission)
    const get = (condition: Condition) => {
      if (holds(condition, position)) return 'true'
      const isOpen = constantResult(condition, permission, operation) === undefined
      return isOpen && condition.facts.includes('branch') ? 'failed' : undefined
    }
    const caller = knownAsOnly(subject)
    const { kind, by } = set.evaluate({
      permission,
      position,
      caller,
      input: { operation },
      conditions: { get },
    })
    return kind === 'denied' ? undefined : by
  }

  /** Returns the grants by which the first caller that can go the way does so. */
  function find(
    own: LocatedRule,
    way: Way,
    callers: readonly Subject[],
    { holds, isFree }: SearchOptions = {},
  ): readonly Grant[] | undefined {
    const grantAt = (
      caller: Subject,
      position: ObjectPosition,
      list: readonly Permission[],
    ): readonly Grant[] => {
      for (const permission of list) {
        const by = findGrant(permission, position, caller, holds)
        if (by !== undefined) return [{ permission, by }]
      }
      return []
    }
    for (const caller of callers) {
      const found = way.needs.flatMap(([place, ...lists]) => {
        for (const position of listPositions(own, caller, way)) {
          if (!isAt(place, own, position) || isFree?.(caller, position)) continue
          const grants = lists.flatMap((list) => grantAt(caller, position, list))
          if (grants.length === lists.length) return grants
        }
        return []
      })
      if (found.length === way.needs.flatMap(([, ...lists]) => lists).length) return found
    }
    return undefined
  }

  function isAt(
    place: Place,
    { document, rule }: LocatedRule,
    { namespace, table }: ObjectPosition,
  ): boolean {
    if (place === 'root') return namespace.length === 0 && table === undefined
    const isBeneath = isWithin(namespace, document.namespace)
    if (place === 'outside') return !isBeneath
    if (rule.tables !== undefined) {
      const isSame = isBeneath && namespace.length === document.namespace.length
      const isOwn = isSame && table !== undefined && matchesAny(rule.tables, table)
      return isOwn === (place === 'own')
    }
    return isBeneath && (rule.effect === 'deny' || isInherited(set, document.namespace, namespace))
  }

  return { find, findGrant, listCallers }
}

/** Whether a namespace in another one inherits its allows. */
function isInherited(set: PolicySet, above: Identifier, beneath: Identifier): boolean {
  return set
    .documentsAbove(beneath)
    .every(({ inherit, namespace }) => inherit || namespace.length <= above.length)
}

/** Whether the rule names a caller that is the subject and nothing else. */
function isNamed({ subjects }: PolicyRule, subject: Subject): boolean {
  return matchSubjects(subjects, knownAsOnly(subject)) === true
}

/** Facts of requests that change a whole table. */
function wholeTableFacts(permission: Permission): OperationFacts {
  const facts = constantFacts(permission)
  // An overwrite may also replace the rows of one branch only.
  if (permission === 'OverwriteTable') return { ...facts, branch: unknown }
  // A new table has the branch main, unless a rename creates it with all branches.
  return permission === destinationPermission ? { ...facts, branch: 'main' } : facts
}

/** Whether it is the requirement on the folders of commits. */
function isOnFolders({ requirement }: Condition): boolean {
  return requirement !== undefined && 'folders' in requirement
}

const changes: ReadonlySet<Permission> = new Set(changePermissions)

/** The changes that the rule allows or denies on some branches only. */
function listRestrictedByBranch(rule: PolicyRule): readonly Permission[] {
  const { condition } = rule
  if (condition?.facts.includes('branch') !== true) return []
  return listNamedPermissions(rule).filter(
    (permission) =>
      changes.has(permission) &&
      factsAvailableFor(permission).has('branch') &&
      constantResult(condition, permission) === undefined,
  )
}

/** Whether the rule denies something on existing tables to some callers. */
function protectsContent(rule: PolicyRule): boolean {
  if (rule.effect === 'allow' || rule.condition?.requirement !== undefined) return false
  return listNamedPermissions(rule).some((permission) => {
    if (!isOperationName(permission)) return true
    const { group, object } = getOperation(permission)
    return group !== 'create' && isInNamespace(object)
  })
}
