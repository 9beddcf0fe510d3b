import { headerDialectNames, headerDialects, type HeaderDialect } from '../../catalog-api/headers.ts'
import { openApiPath } from '../../catalog-api/openapi/openapi-document.ts'
import { createHttp1Client } from '../../http1/client/http1-client.ts'
import { sendRequest, type BufferedResponse } from '../../http1/client/send-request.ts'
import { getBasePath } from '../../lib/http/base-path.ts'
import { buildProbeTarget } from './health-checker.ts'
import { listFixedHeaders, type UpstreamOptions } from './upstream.ts'

/** The result of two reads from an upstream. */
export interface UpstreamProbe {
  /** Of a listing of its root namespace, with the credential of the gateway. */
  readonly status: number
  /** Milliseconds until the whole listing was there. */
  readonly durationMs: number
  /** The headers that its OpenAPI document names; undefined if it has none that names them. */
  readonly headerDialect: HeaderDialect | undefined
}

const maxResponseBytes = 16 * 1024 * 1024

/** Reads from an upstream, and changes nothing. Rejects if it does not respond within its timeouts. */
export async function probeUpstream(options: UpstreamOptions): Promise<UpstreamProbe> {
  const { connectTimeoutMs } = options.timeouts
  const { timeoutMs } = options.healthCheck
  const url = new URL(options.url)
  const basePath = getBasePath(url)
  const headers = listFixedHeaders(options)
  const timeouts = { connectTimeoutMs, headersTimeoutMs: timeoutMs, bodyTimeoutMs: timeoutMs }
  const client = createHttp1Client({
    url,
    tls: options.tls,
    timeouts: { ...timeouts, totalTimeoutMs: timeoutMs },
  })
  const read = (target: string): Promise<BufferedResponse> => {
    const request = { method: 'GET', path: basePath + target, headers, body: null } as const
    return sendRequest(client, request, maxResponseBytes, AbortSignal.timeout(timeoutMs))
  }
  try {
    const startedAt = performance.now()
    const { status } = await read(buildProbeTarget(options.delimiter))
    const durationMs = Math.round(performance.now() - startedAt)
    const document = await read(openApiPath)
    const text = document.status === 200 ? document.body.toString('utf8') : ''
    const headerDialect = headerDialectNames.find((name) => text.includes(headerDialects[name].location))
    return { status, durationMs, headerDialect }
  } finally {
    client.close()
  }
}
