import { getPoolName, getPrincipalKey } from '../../limits/index.ts'
import type { RequestSpans } from '../../observability/index.ts'
import { advance } from '../context.ts'
import type { DownstreamResponse } from '../downstream.ts'
import type { SealedIds } from '../sealed-tokens.ts'
import { gatewayHeaders, type ResponseContext } from '../error-response.ts'
import { createListingResponse, type ListingOptions } from '../listing/listing-response.ts'
import { callUpstream } from '../upstream/call-upstream.ts'
import { RestrictedRows } from '../restrictions/restricted-response.ts'
import { createRequestHeaders } from '../upstream/request-headers.ts'
import { createResponseEditor, type ResponseEditor } from '../upstream/edit-response.ts'
import type { OutgoingRequest } from '../../http1/index.ts'
import type { UpstreamResponse } from '../upstream/upstream-attempt.ts'
import type { Audited } from './audit.ts'

/** A request that an upstream has responded to. */
export interface Sent extends Audited {
  readonly upstreamResponse: UpstreamResponse
  /** Headers that the upstream received from the caller, names and values in turn: its errors may repeat them. */
  readonly sentHeaders: readonly string[]
  /** Undefined if nothing in the response is edited. */
  readonly edit: ResponseEditor | undefined
}

export interface SendOptions extends ListingOptions {
  readonly sealedIds: SealedIds
}

/**
 * Stage 10: sends the request upstream. A response to a read that nothing edits is streamed downstream meanwhile; any other
 * is buffered. A listing is merged from all upstreams that have a part in it. Rejects with AttemptFailed, CatalogError
 * or ClientDisconnected.
 */
export async function send(
  request: Audited,
  response: DownstreamResponse,
  options: SendOptions,
  context: ResponseContext & { readonly spans: RequestSpans | undefined },
): Promise<Sent> {
  const { route, payload, upstream, responseColumns } = request
  const { spans } = context
  if (route.operation.lists !== undefined) {
    const upstreamResponse = await createListingResponse(request, response, options, spans)
    return advance(request, { upstreamResponse, sentHeaders: [], edit: undefined })
  }
  const isRead = route.operation.effect === 'read'
  const edit = createResponseEditor(request, options.sealedIds)
  const outgoing = createUpstreamRequest(request)
  const callOptions = {
    response,
    addedHeaders: gatewayHeaders(context),
    spans,
    checkDecision: request.checkDecision,
    // Changes continue, so that their outcome is known.
    abortsWithClient: isRead,
    pool: payload.form === 'stream' ? 'bulk' : getPoolName(route.operation),
    holder: getPrincipalKey(request.principal),
    buffersResponse: !isRead || edit !== undefined,
    reserveMemory: request.reserveMemory,
    createFilter: responseColumns && (() => new RestrictedRows(responseColumns)),
    responseHeaders: route.operation.responseHeaders,
  } as const
  const mayRetry = isRead && payload.form !== 'stream'
  const upstreamResponse = await callUpstream(upstream, outgoing, callOptions, mayRetry)
  return advance(request, { upstreamResponse, sentHeaders: outgoing.headers, edit })
}

/** The body of a JSON operation that was sent without one: the REST adapter of Lance refuses a request that has none. */
const emptyObject = Buffer.from('{}')

function createUpstreamRequest(request: Audited): OutgoingRequest {
  const { payload, upstream, route, head } = request
  const requiresBody =
    payload.form === 'none' && route.operation.body === 'json' && route.operation.method === 'POST'
  const bytes = payload.form === 'bytes' ? payload.bytes : requiresBody ? emptyObject : null
  // A body that the gateway adds is JSON.
  const { payloadType = bytes === null ? undefined : 'application/json' } = request.body
  const headers = createRequestHeaders(upstream, request, request.restatedHeaders)
  if (payloadType !== undefined) headers.push('content-type', payloadType)
  if (payload.form === 'stream' && payload.length !== undefined) {
    headers.push('content-length', String(payload.length))
  }
  return {
    method: head.method === 'HEAD' ? 'HEAD' : route.operation.method,
    path: request.upstreamTarget,
    headers,
    body: payload.form === 'stream' ? payload.body : bytes,
  }
}
