import { randomUUID } from 'node:crypto'
import { requestIdHeader } from '../../catalog-api/headers.ts'
import { defaultDelimiter, type Identifier } from '../../catalog-api/identifiers.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { sendRequest } from '../../http1/client/send-request.ts'
import { withoutByteOrderMark } from '../../lib/json/json-values.ts'
import type { PoolName } from '../../limits/overload/shed-class.ts'
import { buildUpstreamTarget } from '../upstream/upstream-target.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** A version may have long metadata, and a page of names is cut by its limit. */
const maxResponseBytes = 1024 * 1024
const timeoutMs = 30_000

/** A read that the gateway sends for itself. */
interface GatewayRequest {
  readonly operation: Operation
  readonly id: Identifier
  readonly parameters?: ReadonlyMap<string, string>
  readonly body?: object
}

interface GatewayResponse {
  readonly status: number
  /** Parsed JSON. */
  readonly body: unknown
}

export type SendGatewayRequest = (request: GatewayRequest) => Promise<GatewayResponse>

/** The gateway holds slots like a principal. */
const gatewayHolder = Symbol('gateway')

/**
 * Sends a request with the credentials of the gateway, and resolves with the JSON of its response. Clients have priority:
 * the request fails at once if no slot is free or the circuit is open.
 */
export async function sendGatewayRequest(
  upstream: Upstream,
  { operation, id, parameters = new Map(), body }: GatewayRequest,
  signal: AbortSignal,
  pool: PoolName = 'small',
): Promise<GatewayResponse> {
  if (upstream.breaker.state === 'open') throw new Error('the circuit of the upstream is open')
  const path = buildUpstreamTarget(upstream, {
    operation,
    id,
    delimiter: defaultDelimiter,
    indexName: undefined,
    parameters,
  })
  const type = body === undefined ? [] : ['content-type', 'application/json']
  const request = {
    method: operation.method,
    path,
    headers: [...type, requestIdHeader, randomUUID(), ...upstream.getOwnHeaders()],
    body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
  }
  const slots = upstream.slots[pool]
  if (!slots.take(gatewayHolder)) throw new Error('the upstream is busy')
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const response = await sendRequest(upstream.client, request, maxResponseBytes, limited)
    if (response.status === 401) await upstream.credentials.refresh()
    return {
      status: response.status,
      body: JSON.parse(String(withoutByteOrderMark(response.body))) as unknown,
    }
  } finally {
    slots.release(gatewayHolder)
  }
}
