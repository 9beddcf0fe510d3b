import type { LocatedRule } from '../../engine/compiled-rule.ts'
import { isWithin, type Identifier } from '../../../catalog-api/identifiers.ts'
import { isInNamespace } from '../../../catalog-api/object-kinds.ts'
import {
  getOperation,
  isOperationName,
  operationNames,
  type Operation,
} from '../../../catalog-api/operations.ts'
import type { Permission } from '../../../catalog-api/permissions.ts'
import { destinationPermission } from '../../../catalog-api/requirements.ts'
import { groupBy } from '../../../lib/group-by.ts'
import { listNamedPermissions } from '../../language/deny-coverage.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { namespaceKey } from '../../engine/object-position.ts'
import type { PolicySet } from '../../policy-set.ts'
import {
  knownAsOnly,
  knownFromSubject,
  listSubjects,
  matchSubjects,
  type Subject,
} from '../../engine/subject.ts'
import { constantResult } from './constant-condition.ts'
import { createFinding, type Finding } from './finding.ts'
import type { RequiresFolders } from './namespace-limits.ts'
import { manifestOperations } from './lint-manifests.ts'
import { maxRules } from './rules-by-subject.ts'
import type { FindUnrestrictedGrants } from './unrestricted-grants.ts'

/** A way to use the content of a table that a rule on its name does not cover. */
interface Way {
  /** All of them are needed. */
  readonly permissions: readonly Permission[]
  /** Where they are needed: on the table, on any table, or at the root. */
  readonly place: 'table' | 'any table' | 'root'
  readonly effect: string
}

const operations = operationNames.map(getOperation)

const moves: readonly Way[] = operations
  .filter((operation) => operation.moves)
  .map(({ name }) => ({ permissions: [name], place: 'table', effect: 'moves it' }))

/** Moves to a name of the caller's choice: they can leave the namespace of a rule without `tables`. */
const leavingMoves = operations.filter(
  ({ moves, facts }) => moves && facts.some(([fact]) => fact === 'newName'),
)

const otherWays: readonly Way[] = [
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

const elsewherePermissions = otherWays
  .filter(({ place }) => place === 'any table')
  .flatMap(({ permissions }) => permissions)
  .concat(destinationPermission)

/** Subjects and namespaces tried per rule; bounds the time of lint. */
const maxCandidates = 20

/** Finds denies of tables whose callers can use the content of these tables in a way that the rule does not cover. */
export function lintTableBypass(
  set: PolicySet,
  findGrants: FindUnrestrictedGrants,
  requiresFolders: RequiresFolders,
): readonly Finding[] {
  const { documents } = set
  const grants = documents.flatMap((document) =>
    document.rules
      .filter(
        ({ effect, permissions }) =>
          effect === 'allow' && elsewherePermissions.some((one) => permissions.has(one)),
      )
      .map((rule) => ({ document, rule })),
  )
  const grantsByNamespace = groupBy(grants, ({ document }) => namespaceKey(document.namespace))

  /** The rules that together allow a way to the subject in a namespace; undefined if they do not. */
  function findWay(own: LocatedRule, way: Way, subject: Subject): readonly LocatedRule[] | undefined {
    for (const namespace of listPlaces(own, way, subject)) {
      const granted = findGrants(subject, namespace)
      const rules = way.permissions.flatMap((permission) => granted.get(permission) ?? [])
      if (rules.length === way.permissions.length) return [...new Set(rules)]
    }
    return undefined
  }

  function listPlaces({ document }: LocatedRule, { place }: Way, subject: Subject): readonly Identifier[] {
    if (place === 'root') return [[]]
    if (place === 'table') return [document.namespace]
    // The folders of the namespace itself contain the table.
    const elsewhere = listGrantingDocuments(subject).filter((grant) => !requiresFolders(grant, subject))
    return [document.namespace, ...elsewhere.map(({ namespace }) => namespace).slice(0, maxCandidates)]
  }

  function listGrantingDocuments(subject: Subject): readonly PolicyDocument[] {
    const known = knownFromSubject(subject)
    return grants
      .slice(0, maxRules)
      .filter(({ rule }) => matchSubjects(rule.subjects, known) === true)
      .map(({ document }) => document)
  }

  /** The rules that together allow the subject to move tables out of the namespace of a rule. */
  function findLeavingRules(
    { document }: LocatedRule,
    { name }: Operation,
    subject: Subject,
  ): readonly LocatedRule[] | undefined {
    const move = findGrants(subject, document.namespace).get(name)
    if (move === undefined) return undefined
    for (const { namespace } of listGrantingDocuments(subject).slice(0, maxCandidates)) {
      const creation = findGrants(subject, namespace).get(destinationPermission)
      if (!isWithin(namespace, document.namespace) && creation !== undefined)
        return [...new Set([move, creation])]
    }
    return undefined
  }

  function findLeavingMove(own: LocatedRule): Finding | undefined {
    for (const operation of leavingMoves) {
      if (deniesMove(own.rule, operation.name)) continue
      for (const subject of listCallers(own)) {
        const rules = findLeavingRules(own, operation, subject)
        if (rules === undefined) continue
        const message =
          'denies tables of its namespace, but the same callers can move them out of it: ' +
          `${operation.name} with ${destinationPermission} elsewhere (${rules.map(describeRule).join(' and ')})`
        return createFinding(own.document, own.rule, 'warning', 'way-around', message)
      }
    }
    return undefined
  }

  /**
   * Callers that the rule names, and those of grants that it covers under another name: each as a caller that is nothing
   * else, so that exceptions of the rule do not excuse them.
   */
  function listCallers({ document, rule }: LocatedRule): readonly Subject[] {
    const { namespace } = document
    const above = [...namespace, ''].flatMap(
      (_, depth) => grantsByNamespace.get(namespaceKey(namespace.slice(0, depth))) ?? [],
    )
    const others = above.slice(0, maxRules).flatMap((grant) => listSubjects(grant.rule.subjects))
    const covered = [...listSubjects(rule.subjects), ...others].filter(
      (subject) => matchSubjects(rule.subjects, knownAsOnly(subject)) === true,
    )
    return [...new Map(covered.map((subject) => [JSON.stringify(subject), subject])).values()].slice(
      0,
      maxCandidates,
    )
  }

  function findOpenWays(own: LocatedRule): readonly (readonly [Way, readonly LocatedRule[]])[] {
    const callers = listCallers(own)
    return [...moves, ...otherWays].flatMap((way) => {
      for (const subject of callers) {
        if (isDenied(own, way, subject, set)) continue
        const rules = findWay(own, way, subject)
        if (rules !== undefined) return [[way, rules] as const]
      }
      return []
    })
  }

  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      if (!protectsContent(rule)) return []
      if (rule.tables === undefined) {
        const finding = document.namespace.length === 0 ? undefined : findLeavingMove({ document, rule })
        return finding === undefined ? [] : [finding]
      }
      const open = findOpenWays({ document, rule })
      if (open.length === 0) return []
      const level = open.every(([way]) => moves.includes(way)) ? 'info' : 'warning'
      const what =
        rule.restriction === undefined
          ? 'denies tables, but the same callers can use their content otherwise'
          : 'restricts tables, but the same callers can reach all of their content otherwise'
      const message = `${what}: ${describeWays(open)}`
      return [createFinding(document, rule, level, 'way-around', message)]
    }),
  )
}

/** Whether the rule itself denies the move, in some requests at least: then it does not lead past the rule. */
function deniesMove({ permissions, condition }: PolicyRule, move: Permission): boolean {
  return permissions.has(move) && (condition === undefined || constantResult(condition, move) !== 'false')
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

/** Whether a deny in the namespace closes a way on the same tables to the subject. */
function isDenied(
  { document, rule }: LocatedRule,
  { place, permissions }: Way,
  subject: Subject,
  set: PolicySet,
): boolean {
  if (place !== 'table') return false
  const denies = set
    .documentsAbove(document.namespace)
    .flatMap(({ namespace, rules }) => (namespace.length === document.namespace.length ? rules : []))
  return denies.some(
    (deny) =>
      deny.effect === 'deny' &&
      (deny.condition === undefined || deny.condition.text === rule.condition?.text) &&
      permissions.some((permission) => deny.permissions.has(permission)) &&
      rule.tables?.every((pattern) => deny.tables?.includes(pattern) === true) === true &&
      matchSubjects(deny.subjects, knownAsOnly(subject)) === true,
  )
}

function describeWays(ways: readonly (readonly [Way, readonly LocatedRule[]])[]): string {
  const byEffect = groupBy(
    ways,
    ([{ effect }, rules]) => `${effect} (${rules.map(describeRule).join(' and ')})`,
  )
  return [...byEffect]
    .map(([text, alike]) => {
      const names = alike.map(([{ permissions }]) => permissions.join(' with '))
      return `${names.join(' or ')} ${text}`
    })
    .join('; ')
}

function describeRule({ document, rule }: LocatedRule): string {
  return `${document.name}/${rule.id}, ${document.file}:${rule.line}`
}
