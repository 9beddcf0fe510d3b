import type { RouteMatch } from '../../catalog-api/request-target.ts'
import type { CallerRestriction } from '../../policy/restrictions/restriction.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import type { Payload } from '../body/payload.ts'
import { changeMembers } from './change-members.ts'
import { restrictCount } from './restrict-count.ts'
import { restrictQuery } from './restrict-query.ts'
import { assertReadsNewest, unsupportedError, type MemberChanges } from './restricted-read.ts'

interface RestrictableRequest {
  readonly route: RouteMatch
  readonly head: { readonly isLancedb: boolean }
  readonly body: { readonly members: JsonObject }
  readonly headPermit: { readonly restriction: CallerRestriction | undefined }
}

interface RestrictedRequest {
  readonly payload: Payload
  /** The columns that the response may have; undefined if it has no rows. */
  readonly columns?: ReadonlySet<string>
}

/**
 * Restricts a request to what the policies leave of its table; undefined if that is all of it. Throws InvalidInput (400) for what
 * cannot be restricted.
 */
export function restrictRequest(
  request: RestrictableRequest,
  payload: Payload,
): RestrictedRequest | undefined {
  const { route, head, body, headPermit } = request
  const { restriction } = headPermit
  if (restriction === undefined) return undefined
  const { members } = body
  switch (route.operation.readsPart) {
    case 'query': {
      assertNoParameters(request)
      const { changes, columns } = restrictQuery(members, restriction, head.isLancedb)
      return { payload: changePayload(payload, changes), columns }
    }
    case 'count':
      assertNoParameters(request)
      return { payload: changePayload(payload, restrictCount(members, restriction)) }
    case 'description':
      assertReadsNewest({ ...members, ...Object.fromEntries(route.parameters) })
      return { payload }
    case 'existence':
      return { payload }
    case undefined:
    default:
      // The rule of the restriction denies it already.
      throw unsupportedError(`${route.operation.name} is not supported`)
  }
}

/** A catalog may read members in the query, too. */
function assertNoParameters({ route }: RestrictableRequest): void {
  const [name] = route.parameters.keys()
  if (name !== undefined)
    throw unsupportedError(`the parameter ${JSON.stringify(name)} is not supported; omit it`)
}

function changePayload(payload: Payload, changes: MemberChanges): Payload {
  if (payload.form === 'stream') throw unsupportedError('the body is too large')
  return {
    form: 'bytes',
    bytes: changeMembers(payload.form === 'none' ? Buffer.alloc(0) : payload.bytes, changes),
  }
}
