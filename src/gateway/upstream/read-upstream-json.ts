import { type CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { CapacityHolder } from '../../limits/overload/fair-capacity.ts'
import type { RequestSpans } from '../../observability/traces/request-spans.ts'
import type { DownstreamResponse } from '../downstream.ts'
import { callUpstream } from './call-upstream.ts'
import { createUpstreamError } from './upstream-error.ts'
import { assertNotCompressed } from './content-coding.ts'
import type { UpstreamResponse } from './upstream-attempt.ts'
import { toDownstreamError } from './attempt-failure.ts'
import { buildUpstreamTarget, type Upstream } from './upstream.ts'

export interface ReadUpstreamOptions {
  readonly holder: CapacityHolder
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** The response that the read is for; if its client disconnects, the read is aborted. */
  readonly response: DownstreamResponse
  /** Spans of the request, if traces are on. */
  readonly spans?: RequestSpans | undefined
}

/**
 * Reads a JSON object from an upstream by an operation without a body, for a listing that the gateway composes itself.
 * Uses a slot and retries like any other read. Throws the CatalogError to send to the client, or ClientDisconnected.
 */
export async function readUpstreamJson(
  upstream: Upstream,
  target: RouteMatch,
  { holder, headers, response, spans }: ReadUpstreamOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const upstreamResponse = await callUpstream(
    upstream,
    {
      method: target.operation.method,
      path: buildUpstreamTarget(upstream, target),
      headers,
      body: null,
    },
    {
      response,
      addedHeaders: [],
      responseHeaders: [],
      spans,
      abortsWithClient: true,
      buffersResponse: true,
      pool: 'listing',
      holder,
    },
    true,
  ).catch((error: unknown) => {
    throw toDownstreamError(error)
  })
  if (upstreamResponse.status >= 300) throw createUpstreamError(upstreamResponse, upstream, headers)
  assertNotCompressed(upstreamResponse.headers)
  return parseJsonObject(upstreamResponse)
}

function parseJsonObject({ body }: UpstreamResponse): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(String(body))
  } catch (error) {
    throw invalidResponseError(error)
  }
  if (!isObject(value)) throw invalidResponseError(undefined)
  return value
}

function invalidResponseError(cause: unknown): CatalogError {
  return refusal('upstream_response_invalid', 'the response of the catalog is not a JSON object', { cause })
}
