import {
  isArrowStreamType,
  isWithin,
  quoteForMessage,
  refusal,
  type RouteMatch,
  validateParameter,
} from '../../catalog-api/index.ts'
import { isAddedByBrowser } from './authenticate.ts'
import { isDecidedByMembers, requiresBody } from '../authorization/list-required-permissions.ts'
import type { CheckedBody } from '../body/checked-body.ts'
import type { BodyLimits } from '../body/read-bounded.ts'
import { ArrowMeter, readArrowBody, readArrowSchema } from '../body/read-arrow-body.ts'
import { readJsonBody, readNoBody } from '../body/read-json-body.ts'
import { advance } from '../context.ts'
import type { DownstreamBody } from '../downstream.ts'
import type { NamedWork, SealedIds } from '../sealed-tokens.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { Authorized } from './authorize.ts'
import type { Admitted } from './limit.ts'

/** A request whose body agrees with its route. */
export interface BodyRead extends Admitted {
  readonly body: CheckedBody
  /** The parameters of the route, with those that the body of a listing states. */
  readonly parameters: RouteMatch['parameters']
}

export interface ReadBodyOptions {
  readonly bodyLimits: BodyLimits
  readonly upstreams: Upstreams
  readonly sealedIds: SealedIds
}

/**
 * Stage 6: reads the body and compares it with the route. Of an Arrow stream, the schema is read, and the rest is checked
 * while it is sent upstream. Throws InvalidInput (400, 409, 413), LimitExceeded (429), or Overloaded (503).
 */
export async function readBody(
  request: Admitted,
  body: DownstreamBody,
  options: ReadBodyOptions,
): Promise<BodyRead> {
  const { hasBody, contentType } = request.head
  if (hasBody && contentType === undefined) assertTypeCanBeMissing(request)
  const checked = await checkBody(request, body, options)
  return advance(request, { body: checked, parameters: addBodyParameters(request.route, checked.members) })
}

function checkBody(
  request: Admitted,
  body: DownstreamBody,
  { bodyLimits: limits, sealedIds, upstreams }: ReadBodyOptions,
): CheckedBody | Promise<CheckedBody> {
  const { head, route, headPermit } = request
  const { operation } = route
  const isArrow = operation.body === 'arrow'
  if (!head.hasBody && !isArrow) return readNoBody(operation, requiresBody(operation))
  if (isArrow || (operation.alsoArrowSchema && isArrowStreamType(head.contentType ?? ''))) {
    const replacesColumns = headPermit.stated.mode === 'overwrite'
    const meter = new ArrowMeter(operation.columnMetadata === 'ignored' && !replacesColumns)
    return (isArrow ? readArrowBody : readArrowSchema)(request, body, limits, meter)
  }
  const openJob = (jobId: string): NamedWork | undefined => {
    const job = sealedIds.open('job', jobId, request.principal)
    if (job === undefined || !isWithin(job.id, request.database)) return undefined
    // Settings may have moved the namespace to another upstream, which has other jobs.
    return upstreams.forId(job.id).name === job.upstream ? job : undefined
  }
  return readJsonBody(request, body, { limits, readsAllMembers: readsAllMembers(request), openJob })
}

/** Whether all members of a JSON body are read: to decide, to list, or to restrict a read, also in a dry run. */
function readsAllMembers({ route: { operation }, headPermit }: Authorized): boolean {
  const restriction = headPermit.restriction ?? headPermit.shadowRestriction
  return isDecidedByMembers(operation) || operation.lists !== undefined || restriction !== undefined
}

/** A page can send bytes without a type to any site. */
function assertTypeCanBeMissing({ head, principal }: Admitted): void {
  if (head.page === undefined || !isAddedByBrowser(principal)) return
  throw refusal('unsupported_content_type', 'the body has no content-type; expected that of the operation')
}

/**
 * Adds to the parameters of a listing those that the body states, as in other requests without an official body. Parameters of
 * both places were compared before. Throws InvalidInput (400) for a value that the query would not accept.
 */
function addBodyParameters(
  { operation, parameters }: RouteMatch,
  members: JsonObject,
): RouteMatch['parameters'] {
  if (operation.lists === undefined) return parameters
  const added = new Map(parameters)
  for (const [name, type] of operation.query) {
    const value = members[name]
    // An empty page token counts as absent, as in the query.
    const isAbsent = value === undefined || value === null || (value === '' && type === 'string')
    if (isAbsent || name === 'delimiter' || parameters.has(name)) continue
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    added.set(name, validateParameter(`${quoteForMessage(name)} in the body`, type, text))
  }
  return added
}
