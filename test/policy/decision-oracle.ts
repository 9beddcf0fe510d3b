import { permissionGroups } from '../../src/catalog-api/permissions.ts'
import {
  type AuthorizationRequest,
  pending,
  unknown,
} from '../../src/policy/conditions/authorization-request.ts'
import { conditionSamples } from './policy-conditions.ts'
import type { WrittenPolicy, WrittenRule } from './policy-builder.ts'

export interface OracleDecision {
  readonly allowed: boolean
  readonly reason: 'no_rule' | 'denied' | undefined
  readonly rule: string | undefined
}

/** If `isIdKnown` is false, conditions on the id are pending; rules still match by `id`. */
interface OracleRequest extends AuthorizationRequest {
  readonly isIdKnown?: boolean
}

interface Candidate {
  readonly policy: WrittenPolicy
  readonly rule: Omit<WrittenRule, 'operations'>
}

/** How a condition on a pending fact is decided: against the caller, or for the caller. */
type PendingAssumption = 'pessimistic' | 'optimistic'

/** Decides as policies/README.md specifies, by scanning every rule of every policy. */
export function oracleDecide(
  policies: readonly WrittenPolicy[],
  request: OracleRequest,
  partial: PendingAssumption = 'pessimistic',
): OracleDecision {
  const isNamespace = request.kind === 'namespace' || request.kind === 'none'
  // A transaction belongs to the table that the rest of its id names.
  const id = request.kind === 'transaction' ? request.id.slice(0, -1) : request.id
  const namespace = isNamespace ? id : id.slice(0, -1)
  const table = isNamespace ? undefined : id.at(-1)
  const above = policies.filter((policy) => isPrefix(policy.namespace, namespace))
  const tags = oracleTags(policies, namespace, table)
  const applying = above
    .flatMap((policy) => policy.rules.map((rule) => ({ policy, rule })))
    .filter(
      ({ rule }) => concerns(rule, request) && covers(rule, request) && holds(rule, request, tags, partial),
    )
    .filter(
      ({ policy, rule }) =>
        rule.tables === undefined ||
        (table !== undefined &&
          policy.namespace.length === namespace.length &&
          rule.tables.some((pattern) => oracleMatches(pattern, table))),
    )
  const failed = above
    .filter((policy) => fails(policy, request, partial))
    .map((policy) => ({ policy, rule: denyOf(policy) }))
  const denies = [...failed, ...applying.filter(({ rule }) => rule.effect === 'deny')]
  const deny = mostSpecific(policies.flatMap((policy) => denies.filter((deny) => deny.policy === policy)))
  if (deny !== undefined) return { allowed: false, reason: 'denied', rule: deny }
  const stops = above.filter((policy) => policy.inherit === false).map((policy) => policy.namespace.length)
  const floor = Math.max(0, ...stops)
  const reserved = above.filter((policy) => reserves(policy.final ?? [], request))
  const ceiling = Math.min(...reserved.map((policy) => policy.namespace.length))
  const allow = mostSpecific(
    applying.filter(
      ({ policy, rule }) =>
        rule.effect === 'allow' && policy.namespace.length >= floor && policy.namespace.length <= ceiling,
    ),
  )
  return allow === undefined
    ? { allowed: false, reason: 'no_rule', rule: undefined }
    : { allowed: true, reason: undefined, rule: allow }
}

/**
 * Decides for a namespace and everything beneath by deciding for each: every namespace with policies and one without,
 * and in each every table that a pattern may match and one that none matches. Their ids are unknown, because more
 * objects may be created.
 */
export function oracleDecideBeneath(
  policies: readonly WrittenPolicy[],
  request: AuthorizationRequest,
): OracleDecision {
  const patterns = policies.flatMap(({ rules }) => rules.flatMap(({ tables }) => tables ?? []))
  const names = patterns.map((pattern) => pattern.replaceAll('*', '')).filter((name) => name !== '')
  const namespaces = policies.map(({ namespace }) => namespace).filter((path) => isPrefix(request.id, path))
  const everyNamespace = [request.id, ...namespaces.flatMap((path) => prefixesFrom(request.id.length, path))]
  const beneath = { ...request, isIdKnown: false }
  const responses = everyNamespace.flatMap((path) => [
    oracleDecide(policies, { ...beneath, kind: 'namespace', id: path }),
    oracleDecide(policies, { ...beneath, kind: 'namespace', id: [...path, 'fresh'] }),
    ...[...names, 'fresh'].map((name) =>
      oracleDecide(policies, { ...beneath, kind: 'table', id: [...path, name] }),
    ),
  ])
  const own = oracleDecide(policies, { ...request, kind: 'namespace' })
  if (!own.allowed) return own
  // Decides about the subtree as a whole before the policies beneath.
  const wholeSubtree = oracleDecide(policies, { ...beneath, kind: 'namespace', id: [...request.id, 'fresh'] })
  if (!wholeSubtree.allowed) return wholeSubtree
  return (
    responses.find(({ reason }) => reason === 'denied') ?? responses.find(({ allowed }) => !allowed) ?? own
  )
}

function prefixesFrom(length: number, path: readonly string[]): (readonly string[])[] {
  return path.slice(length).map((_, index) => path.slice(0, length + index + 1))
}

function concerns({ subjects }: Pick<WrittenRule, 'subjects'>, { principal }: AuthorizationRequest): boolean {
  const { everyone, any, anonymous } = subjects
  if (principal.method === 'anonymous') return everyone === true || anonymous === true
  const isNamed = ({ users, groups, keys }: WrittenRule['subjects']): boolean =>
    (users ?? []).includes(principal.name) ||
    (groups ?? []).some((group) => principal.groups.has(group)) ||
    (keys ?? []).includes(principal.credentialId)
  return (everyone === true || any === true || isNamed(subjects)) && !isNamed(subjects.except ?? {})
}

function names(
  operations: readonly string[],
  { permission }: Pick<AuthorizationRequest, 'permission'>,
): boolean {
  return operations.some(
    (name) => name === permission || permissionGroups.get(name)?.includes(permission) === true,
  )
}

/** Operations that remove the name of a table or view, and those that move its content, as in policies/README.md. */
const removing = ['DropTable', 'DeregisterTable', 'RenameTable', 'DropView', 'DropMaterializedView'] as const
const moving: readonly string[] = [
  'RenameTable',
  'DeregisterTable',
  'CreateTableBranch',
  'CherryPickTableBranch',
  'RestoreTable',
]

/** Whether the rule covers the operation: an allow covers the named operations, a deny also covers others. */
function covers(
  { effect, operations, tables, when }: WrittenRule,
  { permission }: Pick<AuthorizationRequest, 'permission'>,
): boolean {
  if (effect === 'allow') return names(operations, { permission })
  const coversNames = tables !== undefined || when?.includes('in tags') === true
  if (coversNames && moving.includes(permission)) return true
  return reserves(operations, { permission })
}

function reserves(
  operations: readonly string[],
  { permission }: Pick<AuthorizationRequest, 'permission'>,
): boolean {
  const isRemoval = removing.some((name) => name === permission)
  const others = isRemoval ? removing : []
  return [permission, ...others].some((one) => names(operations, { permission: one }))
}

/** The tags of an object for a condition; undefined if they are unknown. */
type OracleTags = (when: string) => readonly string[] | undefined

/** Own tags and those of all namespaces above. Unknown if a thing is declared twice, or if nothing has a tag that is named. */
function oracleTags(
  policies: readonly WrittenPolicy[],
  namespace: readonly string[],
  table: string | undefined,
): OracleTags {
  const declaredBy = policies.flatMap(({ namespace, tags }) => [
    ...(tags?.namespace ? [{ path: namespace, tags: tags.namespace }] : []),
    ...Object.entries(tags?.tables ?? {}).map(([name, { tags = [] }]) => ({
      path: [...namespace, 'table', name],
      tags,
    })),
  ])
  const paths = [...namespace, ''].map((_, depth) => namespace.slice(0, depth))
  const found = [...paths, ...(table === undefined ? [] : [[...namespace, 'table', table]])].map((path) =>
    declaredBy.filter((one) => one.path.length === path.length && isPrefix(one.path, path)),
  )
  const declared = new Set(declaredBy.flatMap(({ tags }) => tags))
  return (when) => {
    const named = ['pii', 'open'].filter((tag) => when.includes(`"${tag}" in tags`))
    if (found.some((same) => same.length > 1) || !named.every((tag) => declared.has(tag))) return undefined
    return found.flat().flatMap(({ tags }) => tags)
  }
}

/** An error makes a deny apply and an allow not. */
function holds(
  { when, effect, until }: WrittenRule,
  request: OracleRequest,
  tags: OracleTags,
  partial: PendingAssumption,
): boolean {
  if (until !== undefined && request.request.now.getTime() >= Date.parse(until)) return false
  if (when === undefined) return true
  const condition = conditionSamples.get(when)
  if (condition === undefined) throw new Error(`the oracle does not know ${when}`)
  const isPending = condition.readsId === true && request.isIdKnown === false
  const result = isPending ? 'pending' : condition.holds(request, tags(when))
  if (result === 'pending') return (effect === 'deny') === (partial === 'pessimistic')
  return result === 'error' ? effect === 'deny' : result
}

/** Whether a commit lacks the metadata that the policy requires. */
function fails(policy: WrittenPolicy, request: AuthorizationRequest, partial: PendingAssumption): boolean {
  const { metadata } = request.operation
  const keys = policy.commits?.metadata
  if (keys === undefined || request.permission !== 'CreateTableVersion') return false
  if (!concerns(denyOf(policy), request)) return false
  if (metadata === pending) return partial === 'pessimistic'
  return metadata === unknown || keys.some((key) => !metadata.get(key))
}

function denyOf({ commits }: WrittenPolicy): Omit<WrittenRule, 'operations'> {
  const except = commits?.except
  return {
    id: 'commits.metadata',
    effect: 'deny',
    subjects: { everyone: true, ...(except && { except }) },
  }
}

function mostSpecific(candidates: readonly Candidate[]): string | undefined {
  const deepest = Math.max(...candidates.map(({ policy }) => policy.namespace.length))
  const found = candidates.find(({ policy }) => policy.namespace.length === deepest)
  return found && `${found.policy.name}/${found.rule.id}`
}

function isPrefix(prefix: readonly string[], path: readonly string[]): boolean {
  return prefix.length <= path.length && prefix.every((part, index) => part === path[index])
}

/** Matches character by character, trying every length for each `*`. */
export function oracleMatches(pattern: string, name: string): boolean {
  if (pattern === '') return name === ''
  if (pattern.startsWith('*')) {
    return Array.from({ length: name.length + 1 }, (_, taken) => taken).some((taken) =>
      oracleMatches(pattern.slice(1), name.slice(taken)),
    )
  }
  return name !== '' && pattern[0] === name[0] && oracleMatches(pattern.slice(1), name.slice(1))
}
