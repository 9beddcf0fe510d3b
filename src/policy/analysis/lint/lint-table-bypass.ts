import { isSameIdentifier, isWithin, type Identifier } from '../../../catalog-api/identifiers.ts'
import { isInNamespace } from '../../../catalog-api/object-kinds.ts'
import { getOperation, isOperationName, operationNames } from '../../../catalog-api/operations.ts'
import type { Permission } from '../../../catalog-api/permissions.ts'
import { destinationPermission } from '../../../catalog-api/requirements.ts'
import { groupBy } from '../../../lib/group-by.ts'
import type { Condition } from '../../conditions/condition.ts'
import { matchesAny, sampleName } from '../../conditions/name-pattern.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { ObjectPosition } from '../../engine/object-position.ts'
import { knownAsOnly, listSubjects, matchSubjects, type Subject } from '../../engine/subject.ts'
import { listNamedPermissions } from '../../language/deny-coverage.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { findGrant, isOnFolders, listPositions, maxCandidates } from './find-grant.ts'
import { createFinding, type Finding } from './finding.ts'
import { manifestOperations } from './lint-manifests.ts'

/** A way to use the content of a table that a rule on its name does not cover. */
interface Way {
  /** All of them are needed. */
  readonly permissions: readonly Permission[]
  /** Where they are needed: on the table, on any table, or at the root. */
  readonly place: 'table' | 'any table' | 'root'
  readonly effect: string
}

const operations = operationNames.map(getOperation)

/** Moves to a name of the caller's choice: they can leave the namespace of a rule without `tables`. */
const leavingMoves = operations
  .filter(({ moves, facts }) => moves && facts.some(([fact]) => fact === 'newName'))
  .map(({ name }) => name)

const ways: readonly Way[] = [
  ...operations
    .filter(({ object, effect, facts }) => {
      return object === 'table' && effect === 'change' && facts.some(([fact]) => fact === 'location')
    })
    .map(({ name }): Way => ({
      permissions: [name, 'ChooseLocation'],
      place: 'any table',
      effect: 'gives its location another name',
    })),
  ...manifestOperations.map((name): Way => ({
    permissions: [name],
    place: 'any table',
    effect: 'commits its files to another table',
  })),
  { permissions: ['ReadAnyTable'], place: 'root', effect: 'copies it by SQL or code' },
  { permissions: ['VendCredentials'], place: 'table', effect: 'gives access to its files past the gateway' },
]

const elsewherePermissions = ways
  .filter(({ place }) => place === 'any table')
  .flatMap(({ permissions }) => permissions)
  .concat(destinationPermission)

/** Finds denies of tables whose callers can use the content of these tables in a way that the rule does not cover. */
export function lintTableBypass(set: PolicySet): readonly Finding[] {
  const rules = set.documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
  const grants = rules.filter(
    ({ rule }) => rule.effect === 'allow' && elsewherePermissions.some((one) => rule.permissions.has(one)),
  )

  /** The rules that together allow the permissions at one of the positions. */
  function findRules(
    own: LocatedRule,
    subject: Subject,
    permissions: readonly Permission[],
    positions: Iterable<ObjectPosition>,
  ): readonly LocatedRule[] | undefined {
    for (const position of positions) {
      // The folders of the namespace itself contain the table.
      const isElsewhere = !isSameIdentifier(own.document.namespace, position.namespace)
      const holds = (condition: Condition): boolean =>
        condition.text === own.rule.condition?.text || (isElsewhere && isOnFolders(condition))
      const found = permissions.flatMap((one) => findGrant(set, one, position, subject, holds) ?? [])
      if (found.length === permissions.length)
        return [...new Map(found.map((one) => [one.rule, one])).values()]
    }
    return undefined
  }

  /** Namespaces with grants to the subject. */
  function listGranting(subject: Subject): readonly Identifier[] {
    const namespaces = grants
      .filter(({ rule }) => matchSubjects(rule.subjects, knownAsOnly(subject)) === true)
      .map(({ document }) => document.namespace)
    return namespaces.slice(0, maxCandidates)
  }

  function* listPlaces({ document, rule }: LocatedRule, { place }: Way, subject: Subject) {
    const { namespace } = document
    const { tables = [] } = rule
    if (place === 'root') yield { namespace: [], table: undefined }
    else if (place === 'table') for (const one of tables) yield { namespace, table: sampleName(one) }
    else {
      for (const position of listPositions(set, namespace))
        if (position.table === undefined || !matchesAny(tables, position.table)) yield position
      for (const other of listGranting(subject)) yield* listPositions(set, other)
    }
  }

  /**
   * Callers that the rule names, and those of grants that it covers under another name: each as a caller that is nothing
   * else, so that exceptions of the rule do not excuse them.
   */
  function listCallers({ document, rule }: LocatedRule): readonly Subject[] {
    const above = grants.filter((grant) => isWithin(document.namespace, grant.document.namespace))
    const named = [rule, ...above.map((grant) => grant.rule)].flatMap(({ subjects }) =>
      listSubjects(subjects),
    )
    const covered = named.filter((subject) => matchSubjects(rule.subjects, knownAsOnly(subject)) === true)
    const distinct = new Map(covered.map((subject) => [JSON.stringify(subject), subject]))
    return [...distinct.values()].slice(0, maxCandidates)
  }

  function findOpenWays(own: LocatedRule): readonly OpenWay[] {
    const callers = listCallers(own)
    return ways.flatMap((way) => {
      for (const subject of callers) {
        const found = findRules(own, subject, way.permissions, listPlaces(own, way, subject))
        if (found !== undefined) return [{ way, rules: found }]
      }
      return []
    })
  }

  function findLeavingMove(own: LocatedRule): string | undefined {
    const { namespace } = own.document
    for (const move of leavingMoves) {
      for (const subject of listCallers(own)) {
        const moving = findRules(own, subject, [move], listPositions(set, namespace))
        if (moving === undefined) continue
        const elsewhere = listGranting(subject).filter((other) => !isWithin(other, namespace))
        const places = elsewhere.flatMap((other) => listPositions(set, other))
        const creating = findRules(own, subject, [destinationPermission], places)
        if (creating !== undefined)
          return `${move} with ${destinationPermission} elsewhere (${describeRules([...moving, ...creating])})`
      }
    }
    return undefined
  }

  return rules
    .filter(({ rule }) => protectsContent(rule))
    .flatMap((own) => {
      const { tables, restriction } = own.rule
      if (tables === undefined) {
        const move = own.document.namespace.length === 0 ? undefined : findLeavingMove(own)
        const message = `denies tables of its namespace, but the same callers can move them out of it: ${move}`
        return move === undefined ? [] : [createFinding(own, 'warning', 'way-around', message)]
      }
      const open = findOpenWays(own)
      if (open.length === 0) return []
      const what =
        restriction === undefined
          ? 'denies tables, but the same callers can use their content otherwise'
          : 'restricts tables, but the same callers can reach all of their content otherwise'
      return [createFinding(own, 'warning', 'way-around', `${what}: ${describeWays(open)}`)]
    })
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

interface OpenWay {
  readonly way: Way
  readonly rules: readonly LocatedRule[]
}

function describeWays(open: readonly OpenWay[]): string {
  const byEffect = groupBy(open, ({ way, rules }) => `${way.effect} (${describeRules(rules)})`)
  return [...byEffect]
    .map(([text, alike]) => `${alike.map(({ way }) => way.permissions.join(' with ')).join(' or ')} ${text}`)
    .join('; ')
}

function describeRules(rules: readonly LocatedRule[]): string {
  const names = rules.map(
    ({ document, rule }) => `${document.name}/${rule.id}, ${document.file}:${rule.line}`,
  )
  return [...new Set(names)].join(' and ')
}
