import { defaultDelimiter, type Identifier } from '../../../catalog-api/identifiers.ts'
import type { Operation } from '../../../catalog-api/operations.ts'
import { buildTarget } from '../../../catalog-api/request-target.ts'
import { createHttp1Client } from '../../../http1/client/http1-client.ts'
import { sendRequest, type BufferedResponse } from '../../../http1/client/send-request.ts'
import { getBasePath } from '../../../lib/http/base-path.ts'
import { upstreamBounds } from '../../bounds.ts'
import { createOwnHeaders, type UpstreamOptions } from '../upstream.ts'

const maxResponseBytes = 16 * 1024 * 1024

/** Sends single requests to an upstream, with the credential of the gateway. */
export interface ProbeClient {
  /** `target` is without the base path of the upstream. A body is JSON. Rejects without a whole response in time. */
  send(method: 'GET' | 'POST', target: string, body: Buffer | null): Promise<BufferedResponse>
  /** Sends an operation with JSON members. */
  call(operation: Operation, id: Identifier, members: object): Promise<BufferedResponse>
  close(): void
}

/** `timeoutMs` is for each whole response. */
export function openProbeClient(options: UpstreamOptions, timeoutMs: number): ProbeClient {
  const url = new URL(options.url)
  const basePath = getBasePath(url)
  const headers = createOwnHeaders(options)()
  const client = createHttp1Client({
    url,
    opener: options.opener,
    timeouts: {
      connectTimeoutMs: upstreamBounds.connectTimeoutMs,
      headersTimeoutMs: timeoutMs,
      bodyTimeoutMs: timeoutMs,
      totalTimeoutMs: timeoutMs,
    },
  })
  const send: ProbeClient['send'] = (method, target, body) => {
    const type = body === null ? [] : ['content-type', 'application/json']
    const request = { method, path: basePath + target, headers: [...headers, ...type], body }
    return sendRequest(client, request, maxResponseBytes, AbortSignal.timeout(timeoutMs))
  }
  return {
    send,
    call(operation, id, members) {
      const delimiter = options.delimiter ?? defaultDelimiter
      const route = { operation, id, delimiter, indexName: undefined, parameters: new Map() }
      const body = operation.method === 'GET' ? null : Buffer.from(JSON.stringify({ id, ...members }))
      return send(operation.method === 'GET' ? 'GET' : 'POST', buildTarget(route, delimiter), body)
    },
    close: () => client.close(),
  }
}
