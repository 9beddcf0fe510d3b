import type { QueryParameters } from '../../catalog-api/query-parameters.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import type { CallerRestriction } from '../../policy/restrictions/restriction.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import type { Payload } from '../body/payload.ts'
import { changeMembers } from './change-members.ts'
import { restrictCount } from './restrict-count.ts'
import { assertDescribesNewest } from './restrict-description.ts'
import { restrictQuery } from './restrict-query.ts'
import { unsupportedError, type MemberChanges } from './restricted-read.ts'

interface RestrictableRequest {
  readonly route: RouteMatch
  readonly head: { readonly isLancedb: boolean }
}

interface RestrictedRequest {
  readonly payload: Payload
  /** The columns that the response may have; undefined if it has no rows. */
  readonly columns: ReadonlySet<string> | undefined
}

/**
 * Restricts a request to what the policies leave of its table. Throws InvalidInput (400) for what cannot be restricted.
 */
export function restrictRequest(
  request: RestrictableRequest,
  members: JsonObject,
  payload: Payload,
  restriction: CallerRestriction,
): RestrictedRequest {
  const { changes, columns } = listChanges(request, members, restriction)
  return { payload: changes === undefined ? payload : changePayload(payload, changes), columns }
}

interface RequestChanges {
  readonly changes?: MemberChanges
  readonly columns?: ReadonlySet<string>
}

/** Throws InvalidInput (400) for what cannot be restricted. */
export function listChanges(
  request: RestrictableRequest,
  members: JsonObject,
  restriction: CallerRestriction,
): RequestChanges {
  const { route, head } = request
  switch (route.operation.readsPart) {
    case 'query':
      assertNoParameters(route)
      return restrictQuery(members, restriction, head.isLancedb)
    case 'count':
      assertNoParameters(route)
      return { changes: restrictCount(members, restriction) }
    case 'description':
    case 'existence':
      assertDescribesNewest({ ...members, ...Object.fromEntries(listParameters(route)) })
      return {}
    case undefined:
    default:
      // The rule of the restriction denies it already.
      throw unsupportedError(`${route.operation.name} is not supported`)
  }
}

/** A catalog may read members in the query, too. */
function assertNoParameters(route: RouteMatch): void {
  for (const [name] of listParameters(route))
    throw unsupportedError(`the parameter ${JSON.stringify(name)} is not supported; omit it`)
}

/** Lists all parameters that are forwarded: those that the settings of an upstream allow, too. */
function listParameters({ parameters, extraParameters }: RouteMatch): QueryParameters {
  return new Map([...parameters, ...(extraParameters ?? [])])
}

function changePayload(payload: Payload, changes: MemberChanges): Payload {
  if (payload.form === 'stream') throw unsupportedError('the body is too large')
  return {
    form: 'bytes',
    bytes: changeMembers(payload.form === 'none' ? Buffer.alloc(0) : payload.bytes, changes),
  }
}
