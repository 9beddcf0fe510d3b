import { getResponseForm } from '../../catalog-api/body-forms.ts'
import { cacheByOperation } from '../../catalog-api/requirements.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { isOperationName, uploadIdName, type Operation } from '../../catalog-api/operations.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import type { StatedFacts } from '../../catalog-api/facts.ts'
import type { Principal } from '../../identity/index.ts'
import type { Steps } from '../../lib/async/run-in-slices.ts'
import { createObjectForm, omitMembers, type JsonForm } from '../../lib/json/json-form.ts'
import type { NamedWork, SealedIds } from '../facts/sealed-ids.ts'
import { editResponse, idMembers, type ResponseEdits } from './edit-response.ts'
import type { CallerRestriction } from '../../policy/restrictions/restriction.ts'
import { trimDescription } from '../restrictions/trim-description.ts'

/** A request whose response may contain more than its caller may see. */
interface PermittedRequest {
  readonly route: RouteMatch
  readonly database: Identifier
  readonly principal: Principal
  readonly upstream: { readonly name: string }
  readonly permit: {
    readonly stated: StatedFacts
    readonly withholdsCredentials: boolean
    readonly withholdsDescription: boolean
  }
  readonly headPermit: { readonly restriction: CallerRestriction | undefined }
  readonly body: { readonly job: NamedWork | undefined }
}

/** Edits the body of a response. Throws ServiceUnavailable (502) for a body that is not JSON but has to be edited. */
export type ResponseEditor = (body: Buffer) => Steps<Buffer>

/**
 * Creates the editor of the response to a request: without what the caller may not see, and with ids as the caller sent
 * them. Undefined if the response is streamed as it comes.
 */
export function createResponseEditor(
  request: PermittedRequest,
  sealedIds: SealedIds,
): ResponseEditor | undefined {
  const { route, headPermit } = request
  const edits = createResponseEdits(request, sealedIds)
  const columns = route.operation.readsPart === 'description' ? headPermit.restriction?.columns : undefined
  if (edits === undefined && columns === undefined) return undefined
  return function* editBody(body) {
    const trimmed = columns === undefined ? body : yield* trimDescription(body, columns)
    return edits === undefined ? trimmed : yield* editResponse(trimmed, edits)
  }
}

function createResponseEdits(request: PermittedRequest, sealedIds: SealedIds): ResponseEdits | undefined {
  const { operation } = request.route
  const { withholdsCredentials, withholdsDescription } = request.permit
  if (operation.response !== 'json' || operation.lists !== undefined) return undefined
  const described = getResponseForm(operation)
  const mayBeText = described?.kinds.has('object') === false
  const form =
    withholdsDescription && described !== undefined && !mayBeText ? getUndescribedForm(operation) : undefined
  const replacedId = createIdReplacement(request, sealedIds)
  // The client reads ids as relative to its database.
  const database = returnsId(operation) ? request.database : []
  const isEdited =
    withholdsCredentials || form !== undefined || replacedId !== undefined || database.length > 0
  return isEdited ? { withholdsCredentials, form, mayBeText, replacedId, database } : undefined
}

/** The form of a response to a caller that may not describe the object. */
const getUndescribedForm = cacheByOperation((operation): JsonForm | undefined => {
  // The map is the whole response.
  if (operation.body === 'map') return createObjectForm(new Map())
  const described = getResponseForm(operation)
  return described && omitMembers(described, operation.describes)
})

/**
 * A caller sees one id of a job: the one that it sent, or that of the response to the request which started the job,
 * sealed so that its caller can follow the job. Jobs of operations with facts besides the branch keep theirs: the
 * permission to start them again depends on more than a sealed id contains. A multipart write has a sealed id only.
 */
function createIdReplacement(
  { route, permit, principal, upstream, body: { job } }: PermittedRequest,
  sealedIds: SealedIds,
): ResponseEdits['replacedId'] {
  if (job !== undefined)
    return { member: 'job_id', replace: (id) => (id === job.upstreamId ? job.sealedId : id) }
  const { operation, id } = route
  const { name } = operation
  const startsJobs =
    operation.effect !== 'read' &&
    operation.object !== 'none' &&
    operation.body !== 'map' &&
    operation.facts.every(([fact]) => fact === 'branch')
  if (!startsJobs || !isOperationName(name)) return undefined
  const begins = operation.multipart === 'begins'
  const started = { upstream: upstream.name, operation: name, id, branch: permit.stated.branch }
  return {
    member: begins ? uploadIdName : 'job_id',
    replace: (upstreamId) =>
      sealedIds.seal(begins ? 'multipart write' : 'job', { ...started, upstreamId }, principal),
  }
}

/** Whether the response to an operation names its object by an id. */
function returnsId(operation: Operation): boolean {
  const members = getResponseForm(operation)?.members
  return members !== undefined && [...idMembers].some((name) => members.has(name))
}
