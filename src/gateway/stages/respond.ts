import { CatalogError, type ErrorName, getResponseForm } from '../../catalog-api/index.ts'
import { getMembers, hasHeader, parseJsonBytes, removeHeaders, scheduleAtTickEnd } from '../../lib/index.ts'
import { leavesOpen, toUnknownOutcome } from '../changes/outcome.ts'
import { ClientDisconnected, type DownstreamResponse } from '../downstream.ts'
import { hideReferences, replaceMessage } from '../authorization/decisions.ts'
import { type ResponseContext, sendErrorResponse, toCatalogError } from '../error-response.ts'
import { assertNotCompressed, createUpstreamError } from '../upstream/upstream-error.ts'
import type { ResponseEditor } from '../upstream/edit-response.ts'
import type { Recorded } from './record.ts'
import type { CallerRestriction } from '../../policy/index.ts'

const lengthHeader: ReadonlySet<string> = new Set(['content-length'])

/**
 * Stage 12: sends the response downstream, unless it has been streamed: without data that the caller may not see. Resolves with
 * the error of the upstream, if it responded with one. Throws ServiceUnavailable (502; 424 for a change) for a response that
 * has to be edited and cannot be.
 */
export async function respond(
  request: Recorded,
  response: DownstreamResponse,
  context: ResponseContext,
): Promise<CatalogError | undefined> {
  const { upstreamResponse, sentHeaders, edit } = request
  const { status, headers, body } = upstreamResponse
  if (body === undefined) return undefined
  // The client has the value already, as it asked.
  if (status === 304 && hasHeader(sentHeaders, 'if-none-match')) {
    response.writeHead(status, headers)
    scheduleAtTickEnd(response, () => response.end())
    return undefined
  }
  if (status >= 300 && !isResultWithoutEffect(request)) return sendError(request, response, context)
  const sent = edit === undefined ? body : await applyEdit(request, body, edit)
  const others = removeHeaders(headers, lengthHeader)
  response.writeHead(status, [...others, 'content-length', String(sent.length)])
  scheduleAtTickEnd(response, () => response.end(sent))
  return undefined
}

async function applyEdit(request: Recorded, body: Buffer, edit: ResponseEditor): Promise<Buffer> {
  try {
    assertNotCompressed(request.upstreamResponse.headers)
    return await request.runInSlices(edit(body))
  } catch (error) {
    // The change is done, and would be done again.
    throw error instanceof ClientDisconnected ? error : toUnknownOutcome(toCatalogError(error), request)
  }
}

/** Whether a response that is no success is a result of the operation: its body has only members of such a result. */
function isResultWithoutEffect({ route: { operation }, upstreamResponse }: Recorded): boolean {
  const { status, body } = upstreamResponse
  const form = getResponseForm(operation)
  if (status !== operation.statusWithoutEffect || body === undefined || form === undefined) return false
  const names = Object.keys(getMembers(parseJsonBytes(body)))
  return names.length > 0 && names.every((name) => form.members.has(name))
}

function sendError(request: Recorded, response: DownstreamResponse, context: ResponseContext): CatalogError {
  const { upstream, upstreamResponse, sentHeaders, route } = request
  const reads = route.operation.holdsSecret ? 'code' : 'all'
  const stated = createUpstreamError(upstreamResponse, upstream, sentHeaders, reads)
  const error = leavesOpen(upstreamResponse, request) ? toUnknownOutcome(stated, request) : stated
  const shown = hideRestricted(hideReferences(error, request), request.headPermit.restriction)
  sendErrorResponse(response, shown, context)
  return error
}

/** Errors whose code means nothing about rows and columns. */
const otherErrors: ReadonlySet<ErrorName> = new Set([
  'NamespaceNotFound',
  'TableNotFound',
  'Throttling',
  'ServiceUnavailable',
])

/**
 * Replaces the error of an upstream about a restricted table by one that is always the same: engines list hidden columns and quote
 * hidden values.
 */
export function hideRestricted(
  error: CatalogError,
  restriction: CallerRestriction | undefined,
): CatalogError {
  if (restriction === undefined) return error
  if (otherErrors.has(error.kind)) return replaceMessage(error)
  return new CatalogError(
    'InvalidInput',
    'the catalog cannot answer this for a caller who may read a part of the table only',
  )
}
