import { LRUCache } from 'lru-cache'
import type { Principal } from '../identity/principal.ts'
import type { Identifier } from '../interface/identifiers.ts'
import { nothingGiven, type Asked, type CompiledRule, type GivenAnswers } from './compiled-rule.ts'
import type { Allowed } from './decision.ts'
import { describing } from './describing.ts'
import { conditionsBeforehand, type Given } from './given-answers.ts'
import { indexGrants, type PlacedRule } from './grants-beneath.ts'
import { decisiveRule, nearest, type PolicyNode } from './policy-node.ts'
import type { RequestFacts } from './question.ts'
import type { NumberedCaller, SubjectNumbers } from './subject-numbers.ts'

/** What can be seen. */
type Kind = 'namespace' | 'table'

/** Who looks, and with what request. */
export interface Viewer {
  readonly principal: Principal
  readonly request: RequestFacts
}

/** A viewer and the namespace that he looks at. */
export interface Sight extends Viewer {
  readonly id: Identifier
}

/** Whether a listing shows an object to a viewer. */
export type View = (kind: Kind, id: Identifier) => boolean

/** Tells who sees what. */
export interface Visibility {
  /** What listings show to a viewer. */
  viewOf(viewer: Viewer): View
  /** The decision that makes something beneath a namespace visible. */
  showsBeneath(sight: Sight): Allowed | undefined
}

const describingPermissions = [describing.namespace.permission, describing.table.permission]

/** A viewer, and what conditions say of the request; `metCondition` where another one was asked. */
interface Looker extends Viewer {
  readonly caller: NumberedCaller
  readonly given: Readonly<Record<Kind, GivenAnswers>>
  metCondition: boolean
}

/** What can be remembered of a namespace: whether it is seen, what lies in those beneath that no policy speaks of, tables. */
const remembered = { itself: 0, beneath: 1, table: 2 } as const
const rememberedOfEach = Object.keys(remembered).length
const [seen, unseen] = [1, 2]
const maximumRememberedBytes = 32 * 1024 * 1024

/** Tells who sees what, by the rules of a tree; its nodes are in the order of their numbers. */
export function visibilityOf(
  root: PolicyNode,
  nodes: readonly PolicyNode[],
  subjects: SubjectNumbers,
): Visibility {
  const rules = describingRules(nodes)
  // Where the names of tables, and where ids, tell apart what is seen and what is not.
  const tellingTables = nodesWhere(rules, ({ tables }) => tables !== undefined)
  const tellingIds = withAllBeneath(
    nodesWhere(rules, ({ condition }) => condition?.readsId === true),
    nodes,
  )
  const grantsBeneath = indexGrants(rules)
  const askBeforehand = conditionsBeforehand(rules)
  // By callers whom all rules take for the same, and what conditions say of their requests.
  const memory = new LRUCache<string, Uint8Array>({
    maxSize: maximumRememberedBytes,
    sizeCalculation: ({ length }, key) => length + key.length,
  })

  function viewOf(viewer: Viewer): View {
    const caller = subjects.callerOf(viewer.principal)
    const [namespace, table] = [given('namespace', viewer, caller), given('table', viewer, caller)]
    const looker: Looker = {
      ...viewer,
      caller,
      given: { namespace: namespace.answers, table: table.answers },
      metCondition: false,
    }
    const lasting = memoryOf([caller.key, namespace.key, table.key].join(';'))
    // What cannot be remembered for other requests, as a condition was asked that was not asked beforehand.
    const passing = new Map<number, boolean>()
    return (kind, id) => {
      const depth = kind === 'table' ? id.length - 1 : id.length
      const node = nearest(root, id, depth)
      const isThere = node.depth === depth
      if (kind === 'table' && isThere && tellingTables.has(node)) return look(kind, id, node, looker)
      const place = rememberedOfEach * node.number + remembered[placeOf(kind, isThere)]
      if (lasting[place] !== 0) return lasting[place] === seen
      const before = tellingIds.has(node) ? undefined : passing.get(place)
      if (before !== undefined) return before
      looker.metCondition = false
      const shows = look(kind, id, node, looker)
      if (looker.metCondition) passing.set(place, shows)
      else lasting[place] = shows ? seen : unseen
      return shows
    }
  }

  function given(kind: Kind, { principal, request }: Viewer, caller: NumberedCaller): Given {
    return askBeforehand({ principal, kind, id: undefined, request, ...describing[kind] }, caller)
  }

  function memoryOf(key: string): Uint8Array {
    let lasting = memory.get(key)
    if (lasting === undefined) memory.set(key, (lasting = new Uint8Array(rememberedOfEach * nodes.length)))
    return lasting
  }

  function look(kind: Kind, id: Identifier, node: PolicyNode, looker: Looker): boolean {
    const table = kind === 'table' ? id.at(-1) : undefined
    const depth = kind === 'table' ? id.length - 1 : id.length
    // The branch is pending: a table is shown to callers who may describe one.
    if (allowedOn(node, kind, looker, { id, table, depth }) !== undefined) return true
    return kind === 'namespace' && beneath(id, node, looker) !== undefined
  }

  function showsBeneath({ id, principal, request }: Sight): Allowed | undefined {
    const given = { namespace: nothingGiven, table: nothingGiven }
    const looker = { principal, request, caller: subjects.callerOf(principal), given, metCondition: false }
    return beneath(id, nearest(root, id, id.length), looker)
  }

  function beneath(id: Identifier, node: PolicyNode, looker: Looker): Allowed | undefined {
    const reaching = allowedSomewhere(node, looker)
    // Where no policy speaks of the namespace, none speaks of what is beneath it.
    if (reaching !== undefined || node.depth < id.length) return reaching
    for (const grant of grantsBeneath(node, looker.caller)) {
      const allowed = allowedBy(grant, looker)
      if (allowed !== undefined) return allowed
    }
    return undefined
  }

  return { viewOf, showsBeneath }
}

/**
 * The decision that lets the caller describe something that a rule speaks of. Of a pattern one name stands for all:
 * the one that no other pattern matches unless it matches everything that this one does.
 */
function allowedBy({ rule, node }: PlacedRule, looker: Looker): Allowed | undefined {
  if (rule.samples === undefined) return allowedSomewhere(node, looker)
  for (const table of rule.samples) {
    const what = { id: undefined, table, depth: node.depth }
    const allowed = allowedOn(node, 'table', looker, what)
    if (allowed !== undefined) return allowed
  }
  return undefined
}

/**
 * The decision that lets the caller describe what lies deeper and no policy speaks of. What it is called is not
 * known: a condition that asks counts for the caller.
 */
function allowedSomewhere(node: PolicyNode, looker: Looker): Allowed | undefined {
  const what = { id: undefined, table: undefined, depth: node.depth + 1 }
  return allowedOn(node, 'table', looker, what) ?? allowedOn(node, 'namespace', looker, what)
}

function allowedOn(
  node: PolicyNode,
  kind: Kind,
  looker: Looker,
  { id, table, depth }: Pick<Asked, 'table' | 'depth'> & Pick<Asked['inquiry'], 'id'>,
): Allowed | undefined {
  const { principal, request, caller } = looker
  const given = looker.given[kind]
  const { permission, operation } = describing[kind]
  const inquiry = { principal, permission, kind, id, request, operation }
  const asked: Asked = {
    inquiry,
    caller,
    table,
    depth,
    outlook: 'best',
    given,
    metCondition: false,
    metPending: false,
  }
  const decision = decisiveRule(node, asked)?.decision
  looker.metCondition ||= asked.metCondition
  return decision?.allowed === true ? decision : undefined
}

function placeOf(kind: Kind, isThere: boolean): keyof typeof remembered {
  if (kind === 'table') return 'table'
  return isThere ? 'itself' : 'beneath'
}

function describingRules(nodes: readonly PolicyNode[]): readonly PlacedRule[] {
  const placed: PlacedRule[] = []
  for (const node of nodes) {
    for (const rule of node.rules) {
      if (describingPermissions.some((permission) => rule.permissions.has(permission)))
        placed.push({ rule, node })
    }
  }
  return placed
}

function nodesWhere(
  rules: readonly PlacedRule[],
  is: (rule: CompiledRule) => boolean,
): ReadonlySet<PolicyNode> {
  return new Set(rules.filter(({ rule }) => is(rule)).map(({ node }) => node))
}

function withAllBeneath(
  tops: ReadonlySet<PolicyNode>,
  nodes: readonly PolicyNode[],
): ReadonlySet<PolicyNode> {
  if (tops.size === 0) return tops
  const all = new Set(tops)
  for (const node of nodes) if (node.parent !== undefined && all.has(node.parent)) all.add(node)
  return all
}
