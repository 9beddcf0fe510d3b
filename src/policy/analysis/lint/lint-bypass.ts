import { isSameIdentifier, isWithin, type Identifier } from '../../../catalog-api/identifiers.ts'
import {
  getOperation,
  isOperationName,
  operationNames,
  type Operation,
} from '../../../catalog-api/operations.ts'
import { changePermissions, type Permission } from '../../../catalog-api/permissions.ts'
import { destinationPermission, isInNamespace } from '../../../catalog-api/requirements.ts'
import { groupBy } from '../../../lib/group-by.ts'
import { matchesAny, sampleName } from '../../conditions/name-pattern.ts'
import { factsAvailableFor } from '../../conditions/permission-facts.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { ObjectPosition } from '../../engine/object-position.ts'
import { knownAsOnly, listSubjects, matchSubjects, type Subject } from '../../engine/subject.ts'
import { listNamedPermissions } from '../../language/deny-coverage.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import {
  constantResult,
  findGrant,
  isOnFolders,
  listPositions,
  maxCandidates,
  type Holds,
} from './find-grant.ts'
import { createFinding, nameRule, type Finding } from './finding.ts'

const changes: ReadonlySet<Permission> = new Set(changePermissions)

function namesOf(is: (operation: Operation) => boolean): readonly Permission[] {
  return operationNames.filter((name) => is(getOperation(name)))
}

function states({ facts }: Operation, fact: string): boolean {
  return facts.some(([name]) => name === fact)
}

/** One permission of each list together replaces a table with every branch: remove or overwrite it, then create it again. */
const replacing: readonly (readonly Permission[])[] = [
  [...namesOf(({ object, removesName }) => object === 'table' && removesName), 'OverwriteTable'],
  namesOf(({ object, versions }) => object === 'table' && versions === 'restart'),
]

/** A way to use the content of a table that a rule does not cover. */
interface Way {
  /** All of them are needed: those of a list at one position. */
  readonly needs: readonly (readonly [place: Place, ...permissions: Permission[]])[]
  readonly effect: string
}

/** Where permissions are needed: on what the rule is about, on another table, outside of the namespace, or at the root. */
type Place = 'own' | 'other' | 'outside' | 'root'

const waysAroundTables: readonly Way[] = [
  ...namesOf((one) => one.object === 'table' && one.effect === 'change' && states(one, 'location')).map(
    (name): Way => ({
      needs: [['other', name, 'ChooseLocation']],
      effect: 'gives its location another name',
    }),
  ),
  ...namesOf((one) => states(one, 'manifestPath')).map((name): Way => ({
    needs: [['other', name]],
    effect: 'commits its files to another table',
  })),
  { needs: [['root', 'ReadAnyTable']], effect: 'copies it by SQL or code' },
  { needs: [['own', 'VendCredentials']], effect: 'gives access to its files past the gateway' },
]

/** Moves to a name of the caller's choice: they can leave the namespace of a rule without `tables`. */
const waysOutOfNamespace: readonly Way[] = namesOf((one) => one.moves && states(one, 'newName')).map(
  (name) => ({
    needs: [
      ['own', name],
      ['outside', destinationPermission],
    ],
    effect: 'elsewhere',
  }),
)

const elsewherePermissions = [...waysAroundTables, ...waysOutOfNamespace].flatMap(({ needs }) =>
  needs.flatMap(([place, ...permissions]) => (place === 'other' || place === 'outside' ? permissions : [])),
)

interface Grant {
  readonly permission: Permission
  readonly by: LocatedRule
}

/**
 * Finds rules whose callers can get around them: rules on branches, if the same callers may replace whole tables, and
 * denies of tables or of a namespace, if they can use the content otherwise. A caller is one subject and nothing else, so
 * that exceptions of the rule do not excuse it.
 */
export function lintBypass(set: PolicySet): readonly Finding[] {
  const rules = set.documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
  const listGrants = (permissions: readonly Permission[]): readonly LocatedRule[] =>
    rules.filter(
      ({ rule }) => rule.effect === 'allow' && permissions.some((one) => rule.permissions.has(one)),
    )
  const [replacingGrants, elsewhereGrants] = [listGrants(replacing.flat()), listGrants(elsewherePermissions)]

  /** One permission of each list that the caller has, with its rule, at the first position where it has all. */
  function findGrants(
    caller: Subject,
    needed: readonly (readonly Permission[])[],
    positions: Iterable<ObjectPosition>,
    holds?: Holds,
  ): readonly Grant[] | undefined {
    for (const position of positions) {
      const found = needed.flatMap((oneOf) => {
        for (const permission of oneOf) {
          const by = findGrant(set, permission, position, caller, holds)
          if (by !== undefined) return [{ permission, by }]
        }
        return []
      })
      if (found.length === needed.length) return found
    }
    return undefined
  }

  function* listPlaces(
    { document, rule }: LocatedRule,
    place: Place,
    caller: Subject,
  ): Generator<ObjectPosition> {
    const { namespace } = document
    const { tables } = rule
    if (place === 'root') {
      yield { namespace: [], table: undefined }
      return
    }
    if (place === 'own') for (const one of tables ?? []) yield { namespace, table: sampleName(one) }
    for (const position of place === 'outside' ? [] : listPositions(set, namespace)) {
      const isOwn =
        tables === undefined || (position.table !== undefined && matchesAny(tables, position.table))
      if (isOwn === (place === 'own')) yield position
    }
    for (const other of place === 'own' ? [] : listGranting(caller, elsewhereGrants))
      if (place === 'other' || !isWithin(other, namespace)) yield* listPositions(set, other)
  }

  function findBranchBypass(own: LocatedRule): string | undefined {
    const restricted = listRestrictedByBranch(own.rule)
    if (restricted.length === 0) return undefined
    const callers = listCallers(own, replacingGrants, true).slice(
      0,
      listSubjects(own.rule.subjects).length + maxCandidates,
    )
    const { namespace } = own.document
    const candidates = callers.flatMap((caller) => {
      const granting = own.rule.tables === undefined ? listGranting(caller, replacingGrants) : []
      const beneath = granting.filter((other) => isInherited(set, namespace, other))
      const positions = [
        ...listPlaces(own, 'own', caller),
        ...beneath.flatMap((other) => listPositions(set, other)),
      ]
      return positions.map((position) => ({ caller, position }))
    })
    for (const { caller, position } of candidates) {
      // Callers who have the same permissions without the condition are not restricted by it.
      const isFree = () =>
        findGrants(
          caller,
          restricted.map((one) => [one]),
          [position],
        ) !== undefined
      if (own.rule.effect === 'allow' && isFree()) continue
      const found = findGrants(caller, replacing, [position])
      if (found === undefined) continue
      const names = found.map(({ permission }) => permission).join(' and ')
      const rules = new Set(found.map(({ by }) => nameRule(by)))
      return (
        `depends on the branch, but ${[...rules].join(' and ')} allows the same callers ${names} whatever the branch, ` +
        'which together can replace every branch of a table; deny these too, under the same condition'
      )
    }
    return undefined
  }

  function findTableBypass(own: LocatedRule): string | undefined {
    const { tables, restriction, condition } = own.rule
    const { namespace } = own.document
    if (!protectsContent(own.rule) || (tables === undefined && namespace.length === 0)) return undefined
    // The folders of the namespace itself contain its tables, and others do not.
    const holds: Holds = (one, position) =>
      one.text === condition?.text || (isOnFolders(one) && !isSameIdentifier(namespace, position.namespace))
    const callers = listCallers(own, elsewhereGrants).slice(0, maxCandidates)
    const open = (tables === undefined ? waysOutOfNamespace : waysAroundTables).flatMap(
      ({ needs, effect }) => {
        for (const caller of callers) {
          const found = needs.map(([place, ...permissions]) =>
            findGrants(
              caller,
              permissions.map((one) => [one]),
              listPlaces(own, place, caller),
              holds,
            ),
          )
          const grants = found.flatMap((of) => of ?? [])
          const names = grants.map(({ permission }) => permission).join(' with ')
          if (!found.includes(undefined)) return [{ names, text: `${effect} (${describeGrants(grants)})` }]
        }
        return []
      },
    )
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

  return rules.flatMap((own) =>
    [findBranchBypass(own), findTableBypass(own)].flatMap((message) =>
      message === undefined ? [] : [createFinding(own, 'warning', 'way-around', message)],
    ),
  )
}

/** Callers that the rule names, and those of grants at its namespace or above, or beneath, that it covers under another name. */
function listCallers(
  { document, rule }: LocatedRule,
  grants: readonly LocatedRule[],
  includesBeneath = false,
): readonly Subject[] {
  const { namespace } = document
  const above = grants.filter(
    (grant) =>
      isWithin(namespace, grant.document.namespace) ||
      (includesBeneath && rule.tables === undefined && isWithin(grant.document.namespace, namespace)),
  )
  const named = [rule, ...above.map((grant) => grant.rule)].flatMap(({ subjects }) => listSubjects(subjects))
  const covered = named.filter((subject) => isNamed(rule, subject))
  const distinct = new Map(covered.map((subject) => [JSON.stringify(subject), subject]))
  return [...distinct.values()]
}

/** Namespaces with grants to the caller. */
function listGranting(caller: Subject, grants: readonly LocatedRule[]): readonly Identifier[] {
  const namespaces = grants.filter(({ rule }) => isNamed(rule, caller))
  return namespaces.map(({ document }) => document.namespace).slice(0, maxCandidates)
}

/** Whether the rule names a caller that is the subject and nothing else. */
function isNamed({ subjects }: PolicyRule, subject: Subject): boolean {
  return matchSubjects(subjects, knownAsOnly(subject)) === true
}

/** Whether a namespace beneath another one inherits its allows. */
function isInherited(set: PolicySet, above: Identifier, beneath: Identifier): boolean {
  const isBeneath = beneath.length > above.length && isWithin(beneath, above)
  return (
    isBeneath &&
    set.documentsAbove(beneath).every(({ inherit, namespace }) => inherit || namespace.length <= above.length)
  )
}

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

function describeGrants(grants: readonly Grant[]): string {
  const names = grants.map(({ by: { document, rule } }) => {
    return `${document.name}/${rule.id}, ${document.file}:${rule.line}`
  })
  return [...new Set(names)].join(' and ')
}
