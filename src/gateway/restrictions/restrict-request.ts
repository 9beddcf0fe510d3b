import { CatalogError, type RouteMatch } from '../../catalog-api/index.ts'
import type { CallerRestriction } from '../../policy/index.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import type { Payload } from '../body/checked-body.ts'
import { restrictQuery, type RestrictedQuery } from './restrict-query.ts'
import { assertUnderstood, restrictFilter, unsupportedError, type MemberChanges } from './restricted-read.ts'
import { JsonTransformer } from '../json/json-transformer.ts'
import { runAtOnce } from '../../lib/index.ts'

interface RestrictableRequest {
  readonly route: RouteMatch
  readonly head: { readonly isLancedb: boolean }
}

/**
 * Restricts a request to the visible part of its table. Returns the payload to send, and the columns that the response
 * may have; undefined if it has no rows. Throws InvalidInput (400) for a request that cannot be restricted.
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

/** Throws InvalidInput (400) for a request that cannot be restricted. */
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
      assertUnderstood(members, understoodInCounts)
      return {
        changes: new Map([['predicate', restrictFilter('predicate', members['predicate'], restriction)]]),
      }
    case 'description':
    case 'existence':
      assertUnderstood({ ...members, ...Object.fromEntries(route.parameters) }, understoodInDescriptions)
      return {}
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

export type TriedRestriction = ReturnType<typeof tryRestriction>

/**
 * Returns the effect that a restriction of a shadow policy would have on a request, which is not changed: `restricted`, or
 * the reason of the refusal. Never throws.
 */
export function tryRestriction(
  request: RestrictableRequest,
  members: JsonObject,
  restriction: CallerRestriction,
) {
  try {
    listChanges(request, members, restriction)
    return { restriction, result: 'restricted' } as const
  } catch (error) {
    if (!(error instanceof CatalogError)) return { restriction, result: 'internal_error' } as const
    return { restriction, result: error.reason, error: error.message }
  }
}
