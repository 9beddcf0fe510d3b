import { type InterfaceError, refusal } from '../../interface/errors.ts'
import type { Target } from '../../interface/target.ts'
import type { Holder } from '../../limits/fair-capacity.ts'
import type { RequestSpans } from '../../telemetry/request-spans.ts'
import type { OutgoingResponse } from '../../http1/server/outgoing-response.ts'
import { callUpstream } from './call-upstream.ts'
import type { UpstreamAnswer } from './exchange.ts'
import { errorOf } from './upstream-answer.ts'
import { answerToFailure } from './upstream-failure.ts'
import { upstreamTarget } from './upstream-target.ts'
import type { Upstream } from './upstream.ts'

/** For whom the gateway reads. */
export interface ReadFor {
  /** Who holds the slot. */
  readonly holder: Holder
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** The answer that the reading is for; when its client goes away, the reading ends. */
  readonly response: OutgoingResponse
  /** Of its request, where traces are on. */
  readonly spans?: RequestSpans | undefined
}

/**
 * Reads the JSON object that an upstream answers to an operation without a body, for an answer that the gateway
 * composes itself. It takes a slot like any other request, and is repeated like any other read.
 * Throws what the client would be answered: InterfaceError, or ClientDisconnected.
 */
export async function readJson(
  upstream: Upstream,
  target: Target,
  { holder, headers, response, spans }: ReadFor,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await callUpstream(
    upstream,
    {
      method: target.operation.method,
      path: upstreamTarget(upstream, target),
      headers,
      body: null,
    },
    { response, headers: [], spans, endsWithClient: true, holdsBack: true, pool: 'small', holder },
    true,
  ).catch((error: unknown) => {
    throw answerToFailure(error)
  })
  if (answer.status >= 300) throw errorOf(answer, upstream, headers)
  return objectIn(answer)
}

function objectIn({ body }: UpstreamAnswer): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(String(body))
  } catch (error) {
    throw notJson(error)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notJson(undefined)
  return value as Readonly<Record<string, unknown>>
}

function notJson(cause: unknown): InterfaceError {
  return refusal('upstream_response_invalid', 'the response of the catalog is not a JSON object', { cause })
}
