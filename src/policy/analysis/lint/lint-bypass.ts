import {
  changePermissions,
  destinationPermission,
  getOperation,
  isInNamespace,
  isOperationName,
  isSameIdentifier,
  isWithin,
  operationNames,
  type Permission,
} from '../../../catalog-api/index.ts'
import { groupBy } from '../../../lib/index.ts'
import { type OperationFacts, unknown } from '../../conditions/authorization-request.ts'
import type { Condition } from '../../conditions/condition.ts'
import { matchesAny, sampleName } from '../../conditions/name-pattern.ts'
import { constantFacts, factsAvailableFor, listStating } from '../../conditions/permission-facts.ts'
import { createRuleReference, type LocatedRule } from '../../engine/compiled-rule.ts'
import { readingOperations, type ObjectPosition } from '../../engine/object-position.ts'
import { anonymousSubject, knownAsOnly, listSubjects, type Subject } from '../../engine/subject.ts'
import { listNamedPermissions } from '../../language/policy-vocabulary.ts'
import type { PolicyRule } from '../../language/policy-document.ts'
import type { PolicySet } from '../../policy-set.ts'
import { formatRule, listPositionClasses } from '../steps.ts'
import { type Check, isNamed, isReached, type Remark, type RuleIndex, warn } from './check.ts'
import { constantResult } from './lint-conditions.ts'

/** Where permissions are required: on the objects of the rule, on others, or at the root. */
type Target = 'own' | 'other' | 'root'

interface Way {
  /** All permissions are required, those of one target on one object. */
  readonly requires: readonly (readonly [on: Target, ...permissions: readonly Permission[]])[]
  readonly effect?: string
}

const operations = operationNames.map(getOperation)
const tableOperations = operations.filter(({ object }) => object === 'table')

/** Removing or overwriting a table and creating it again replaces it with every branch. */
const waysAroundBranches: readonly Way[] = [
  ...tableOperations.filter(({ removesName }) => removesName).map(({ name }) => name),
  'OverwriteTable' as const,
].flatMap((remove) =>
  tableOperations
    .filter(({ versions }) => versions === 'restart')
    .map(({ name }): Way => ({ requires: [['own', remove, name]] })),
)

const changingTables = tableOperations.filter(({ effect }) => effect === 'change')

/** Ways to use the content of a table that a deny of tables does not cover. */
const waysAroundTables: readonly Way[] = [
  ...listStating('location', changingTables).map((name): Way => ({
    requires: [['other', name, 'ChooseLocation']],
    effect: 'gives its location another name',
  })),
  ...listStating('manifestPath').map((name): Way => ({
    requires: [['other', name]],
    effect: 'commits its files to another table',
  })),
  { requires: [['root', 'ReadAnyTable']], effect: 'copies it by SQL or code' },
  { requires: [['own', 'VendCredentials']], effect: 'gives access to its files past the gateway' },
]

const moving = operations.filter(({ moves }) => moves)

/** Moves to a name of the caller's choice: they can leave the namespace of a rule without `tables`. */
const waysOutOfNamespace: readonly Way[] = listStating('newName', moving).map((name) => ({
  requires: [
    ['own', name],
    ['other', destinationPermission],
  ],
  effect: 'elsewhere',
}))

/** Callers, namespaces and tables tried per rule; bounds the time of lint. */
const maxCandidates = 20

interface Detour {
  readonly ways: readonly Way[]
  /** By default those that the rule covers. */
  readonly callers?: readonly Subject[]
  readonly holds?: Holds
  /** Whether the rule does not bind the caller at a position. */
  readonly isFree?: (caller: Subject, position: ObjectPosition) => boolean
}

type Holds = (condition: Condition, position: ObjectPosition) => boolean

interface OpenWay {
  readonly way: Way
  readonly grants: readonly { readonly permission: Permission; readonly by: LocatedRule }[]
}

/**
 * Finds rules whose callers can get around them. A caller is one subject and nothing else, so that exceptions of the rule do
 * not excuse it.
 */
export function createBypassCheck(index: RuleIndex): Check {
  return (own) =>
    [findReplacedBranches, findUsedContent, findAnonymous].flatMap((findWays) => findWays(own, index))
}

/** Of rules on branches: their callers may replace whole tables. */
function findReplacedBranches(own: LocatedRule, index: RuleIndex): readonly Remark[] {
  const restricted = listRestrictedByBranch(own.rule)
  if (restricted.length === 0) return []
  // Callers who have the same permissions without the condition are not restricted by it.
  const isFree = (caller: Subject, position: ObjectPosition): boolean =>
    own.rule.effect === 'allow' &&
    restricted.every((one) => findGrant(index.set, one, position, caller) !== undefined)
  const [open] = findOpenWays(own, index, { ways: waysAroundBranches, isFree })
  if (open === undefined) return []
  return warn(
    'way-around',
    `depends on the branch, but the same callers can replace a table with every branch: ` +
      `${describeWays([open])}; deny these too, under the same condition`,
  )
}

/** Of denies of tables or of a namespace: their callers can use the content otherwise. */
function findUsedContent(own: LocatedRule, index: RuleIndex): readonly Remark[] {
  const { tables, restriction, condition } = own.rule
  const { namespace } = own.document
  if (!protectsContent(own.rule) || (tables === undefined && namespace.length === 0)) return []
  // The folders of the namespace itself contain its tables, and others do not.
  const holds: Holds = ({ text, requirement }, position) => {
    const isOnFolders = requirement !== undefined && 'folders' in requirement
    return text === condition?.text || (isOnFolders && !isSameIdentifier(namespace, position.namespace))
  }
  const ways = tables === undefined ? waysOutOfNamespace : waysAroundTables
  const open = [...findOpenWays(own, index, { ways, holds })]
  if (open.length === 0) return []
  const what =
    tables === undefined
      ? 'denies tables of its namespace, but the same callers can move them out of it'
      : restriction === undefined
        ? 'denies tables, but the same callers can use their content otherwise'
        : 'restricts tables, but the same callers can reach all of their content otherwise'
  return warn('way-around', `${what}: ${describeWays(open)}`)
}

/** Of denies for every caller: they forget anonymous ones. */
function findAnonymous(own: LocatedRule, index: RuleIndex): readonly Remark[] {
  const { restriction, effect, subjects, permissions } = own.rule
  if (effect === 'allow' || !subjects.any || subjects.anonymous) return []
  const denied = [...permissions, ...(restriction === undefined ? [] : readingOperations)]
  const ways = denied.map((permission): Way => ({ requires: [['own', permission]] }))
  const [open] = findOpenWays(own, index, { ways, callers: [anonymousSubject] })
  if (open === undefined) return []
  return warn(
    'anonymous',
    `does not cover anonymous callers, which may do the same: ${describeWays([open])}; expected "everyone: true"`,
  )
}

/** `RegisterTable with ChooseLocation gives its location another name, by sales/all (sales.yaml:7)`. */
function describeWays(open: readonly OpenWay[]): string {
  const described = open.map(({ way: { effect }, grants }) => {
    const by = new Set(grants.map((grant) => formatRule(createRuleReference(grant.by))))
    const names = grants.map(({ permission }) => permission).join(' with ')
    return { names, text: `${effect ? ` ${effect}` : ''}, by ${[...by].join(' and ')}` }
  })
  const alike = [...groupBy(described, ({ text }) => text)]
  return alike.map(([text, ways]) => `${ways.map(({ names }) => names).join(' or ')}${text}`).join('; ')
}

/** Finds the ways that a caller of the rule can go, each with the grants by which the first one does so. */
function* findOpenWays(
  own: LocatedRule,
  { set, allows, listGrants }: RuleIndex,
  { ways, callers, holds, isFree }: Detour,
): Generator<OpenWay, void> {
  const wanted = [...new Set(ways.flatMap(({ requires }) => requires.flatMap(([, ...names]) => names)))]
  const reached = callers ? [] : allows.filter((grant) => isReached(own, grant, wanted))
  const tried = (callers ?? listCallers(own, reached)).map((caller) => {
    const granting = listGrants(caller).filter(({ rule }) => wanted.some((one) => rule.permissions.has(one)))
    const positions = granting.length === 0 ? [] : listPositions(set, own, granting)
    return { caller, positions: positions.filter((position) => isFree?.(caller, position) !== true) }
  })
  for (const way of ways) {
    for (const { caller, positions } of tried) {
      const found = way.requires.flatMap(([on, ...permissions]) => {
        for (const position of positions) {
          if (!isAt(on, own, position)) continue
          const grants = permissions.map((one) => findGrant(set, one, position, caller, holds))
          if (grants.every((grant) => grant !== undefined)) return [grants]
        }
        return []
      })
      if (found.length < way.requires.length) continue
      yield { way, grants: found.flat() }
      break
    }
  }
}

/** Callers that the rule covers: those that it names, and those of the grants. */
function listCallers({ rule }: LocatedRule, grants: readonly LocatedRule[]): readonly Subject[] {
  const own = listSubjects(rule.subjects)
  const named = [...own, ...grants.flatMap((grant) => listSubjects(grant.rule.subjects))]
  const covered = named.filter((subject) => isNamed(rule, subject))
  const distinct = new Map(covered.map((subject) => [JSON.stringify(subject), subject]))
  return [...distinct.values()].slice(0, own.length + maxCandidates)
}

/** Positions that the rule or one of the grants may be about. */
function listPositions(
  set: PolicySet,
  { document: { namespace }, rule }: LocatedRule,
  grants: readonly LocatedRule[],
): readonly ObjectPosition[] {
  const namespaces = grants.map(({ document }) => document.namespace).slice(0, maxCandidates)
  return [
    ...(rule.tables ?? []).map((table) => ({ namespace, table: sampleName(table) })),
    ...[namespace, ...namespaces, []].flatMap((one) =>
      listPositionClasses([set], one).slice(0, maxCandidates),
    ),
  ]
}

function isAt(on: Target, { document, rule }: LocatedRule, { namespace, table }: ObjectPosition): boolean {
  if (on === 'root') return namespace.length === 0 && table === undefined
  const isOwn =
    rule.tables === undefined
      ? isWithin(namespace, document.namespace)
      : isSameIdentifier(namespace, document.namespace) &&
        table !== undefined &&
        matchesAny(rule.tables, table)
  return isOwn === (on === 'own')
}

/**
 * Returns the rule by which a caller that is the subject and nothing else may change a whole table: the conditions of allows
 * are assumed to be true, and those of denies to be false, unless they are on the branch or `holds` says that they are true.
 */
function findGrant(
  set: PolicySet,
  permission: Permission,
  position: ObjectPosition,
  subject: Subject,
  holds: Holds = () => false,
): OpenWay['grants'][number] | undefined {
  const operation = wholeTableFacts(permission)
  const get = (condition: Condition) => {
    if (holds(condition, position)) return 'true'
    const isOpen = constantResult(condition, permission, operation) === undefined
    return isOpen && condition.facts.includes('branch') ? 'failed' : undefined
  }
  const caller = knownAsOnly(subject)
  const request = { permission, position, caller, input: { operation }, conditions: { get } }
  const { kind, by } = set.evaluate(request)
  return kind === 'denied' || by === undefined ? undefined : { permission, by }
}

function wholeTableFacts(permission: Permission): OperationFacts {
  const facts = constantFacts(permission)
  // An overwrite may also replace the rows of one branch only.
  if (permission === 'OverwriteTable') return { ...facts, branch: unknown }
  // A new table has the branch main, unless a rename creates it with all branches.
  return permission === destinationPermission ? { ...facts, branch: 'main' } : facts
}

const changes: ReadonlySet<Permission> = new Set(changePermissions)

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
    const operation = isOperationName(permission) ? getOperation(permission) : undefined
    return operation === undefined || (operation.group !== 'create' && isInNamespace(operation.object))
  })
}
