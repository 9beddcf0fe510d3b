import { CatalogError, type RefusalReason, type RouteMatch } from '../../catalog-api/index.ts'
import type { CallerRestriction } from '../../policy/index.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import type { Payload } from '../body/checked-body.ts'
import { restrictQuery, type RestrictedQuery } from './restrict-query.ts'
import {
  assertMembersUnderstood,
  assertReadsNewest,
  restrictFilter,
  unsupportedError,
  type MemberChanges,
} from './restricted-read.ts'
import { JsonTransformer } from '../json/json-transformer.ts'
import { isObject, parseJsonBytes, runAtOnce } from '../../lib/index.ts'

interface RestrictableRequest {
  readonly route: RouteMatch
  readonly head: { readonly isLancedb: boolean }
}

/**
 * Restricts a request to what the policies leave of its table. Returns what is sent, and the columns that the response
 * may have; undefined if it has no rows. Throws InvalidInput (400) for what cannot be restricted.
 */
export function restrictRequest(
  request: RestrictableRequest,
  members: JsonObject,
  payload: Payload,
  restriction: CallerRestriction,
) {
  const { changes, columns } = listChanges(request, members, restriction)
  if (changes === undefined) return { payload, columns }
  const body = payload.form === 'bytes' ? payload.bytes : Buffer.alloc(0)
  return { payload: { form: 'bytes', bytes: changeMembers(body, changes) } as const, columns }
}

const understoodInCounts: ReadonlySet<string> = new Set(['id', 'context', 'predicate', 'version', 'branch'])

const understoodInDescriptions: ReadonlySet<string> = new Set([
  'id',
  'context',
  'with_table_uri',
  'load_detailed_metadata',
  'check_declared',
  'vend_credentials',
  'version',
  'branch',
  'tag',
])

/** Throws InvalidInput (400) for what cannot be restricted. */
function listChanges(
  request: RestrictableRequest,
  members: JsonObject,
  restriction: CallerRestriction,
): Partial<RestrictedQuery> {
  const { route, head } = request
  switch (route.operation.readsPart) {
    case 'query':
      assertNoParameters(route)
      return restrictQuery(members, restriction, head.isLancedb)
    case 'count':
      assertNoParameters(route)
      assertMembersUnderstood(members, understoodInCounts)
      assertReadsNewest(members)
      return {
        changes: new Map([['predicate', restrictFilter('predicate', members['predicate'], restriction)]]),
      }
    case 'description':
    case 'existence': {
      const described = { ...members, ...Object.fromEntries(route.parameters) }
      assertMembersUnderstood(described, understoodInDescriptions)
      assertReadsNewest(described)
      return {}
    }
    case undefined:
    default:
      // The rule of the restriction denies it already.
      throw unsupportedError(`${route.operation.name} is not supported`)
  }
}

/** A catalog may read members in the query, too. */
function assertNoParameters(route: RouteMatch): void {
  for (const [name] of route.parameters)
    throw unsupportedError(`the parameter ${JSON.stringify(name)} is not supported; omit it`)
}

/**
 * Replaces, adds and removes members of a JSON object that was checked, for which nothing and `null` count as `{}`. All
 * others stay as they were sent, numbers too.
 */
export function changeMembers(body: Buffer, changes: MemberChanges): Buffer {
  const json = new JsonTransformer(body, {
    visitMember: ({ name, depth }) => (depth === 1 && changes.has(name) ? 'removal' : 'nothing'),
  })
  runAtOnce(json.read())
  const { root } = json
  if (root === undefined) return changeMembers(Buffer.from('{}'), changes)
  for (const [name, value] of changes) if (value !== undefined) json.addMember(root, name, value)
  return runAtOnce(json.write())
}

/** What a restriction that is not in force would do to a request. */
export interface TriedRestriction {
  readonly restriction: CallerRestriction
  /**
   * `restricted`: it would be sent with what the restriction leaves. `undecided`: its body is too large. Otherwise the
   * reason of the refusal.
   */
  readonly result: 'restricted' | 'undecided' | RefusalReason
  /** The error of the refusal. */
  readonly error?: CatalogError
}

/** In bytes: the body is parsed at once, and only for a count. */
const maxTriedBytes = 256 * 1024

/** Finds out what a restriction would do to a request, which stays as it is. Never throws. */
export function tryRestriction(
  request: RestrictableRequest,
  payload: Payload,
  restriction: CallerRestriction,
): TriedRestriction {
  const isJson = request.route.operation.body === 'json'
  if (isJson && payload.form === 'bytes' && payload.bytes.length > maxTriedBytes)
    return { restriction, result: 'undecided' }
  try {
    const members = isJson && payload.form === 'bytes' ? parseJsonBytes(payload.bytes) : {}
    listChanges(request, isObject(members) ? members : {}, restriction)
    return { restriction, result: 'restricted' }
  } catch (error) {
    if (error instanceof CatalogError) return { restriction, result: error.reason, error }
    return { restriction, result: 'internal_error' }
  }
}
