import { headerDialectNames, headerDialects, type HeaderDialect } from '../../catalog-api/headers.ts'
import { defaultDelimiter } from '../../catalog-api/identifiers.ts'
import { openApiPath } from '../../catalog-api/openapi/openapi-document.ts'
import { createHttp1Client } from '../../http1/client/http1-client.ts'
import { sendRequest, type BufferedResponse } from '../../http1/client/send-request.ts'
import { getBasePath } from '../../lib/http/base-path.ts'
import { parseJsonBytes } from '../../lib/json/parse-json-bytes.ts'
import { findManagedVersions, type ManagedVersions, type ReadCatalog } from './managed-versions.ts'
import { buildProbeTarget } from './health-checker.ts'
import { createOwnHeaders, type UpstreamOptions } from './upstream.ts'

/** The result of a few reads from an upstream. */
export interface UpstreamProbe {
  /** Of a listing of its root namespace, with the credential of the gateway. */
  readonly status: number
  /** Milliseconds until the whole listing was there. */
  readonly durationMs: number
  /** The headers that its OpenAPI document names; undefined if it has none that names them. */
  readonly headerDialect: HeaderDialect | undefined
  /** By the first table that the gateway can describe. */
  readonly managedVersions: ManagedVersions
}

const maxResponseBytes = 16 * 1024 * 1024

/** Reads from an upstream, and changes nothing. Rejects if it does not respond within its timeouts. */
export async function probeUpstream(options: UpstreamOptions): Promise<UpstreamProbe> {
  const { connectTimeoutMs } = options.timeouts
  const { timeoutMs } = options.healthCheck
  const url = new URL(options.url)
  const basePath = getBasePath(url)
  const headers = createOwnHeaders(options)()
  const timeouts = { connectTimeoutMs, headersTimeoutMs: timeoutMs, bodyTimeoutMs: timeoutMs }
  const client = createHttp1Client({
    url,
    opener: options.opener,
    timeouts: { ...timeouts, totalTimeoutMs: timeoutMs },
  })
  const send = (method: 'GET' | 'POST', target: string, body: Buffer | null): Promise<BufferedResponse> => {
    const type = body === null ? [] : ['content-type', 'application/json']
    const request = { method, path: basePath + target, headers: [...headers, ...type], body }
    return sendRequest(client, request, maxResponseBytes, AbortSignal.timeout(timeoutMs))
  }
  const read = (target: string) => send('GET', target, null)
  const readJson: ReadCatalog = async (...request) => {
    const { status, body } = await send(...request)
    return status === 200 ? parseJsonBytes(body) : undefined
  }
  try {
    const startedAt = performance.now()
    const { status } = await read(buildProbeTarget(options.delimiter))
    const durationMs = Math.round(performance.now() - startedAt)
    const document = await read(openApiPath)
    const text = document.status === 200 ? document.body.toString('utf8') : ''
    const headerDialect = headerDialectNames.find((name) => text.includes(headerDialects[name].location))
    const managedVersions = await findManagedVersions(
      readJson,
      options.delimiter ?? defaultDelimiter,
      options.namespaces,
    ).catch((): ManagedVersions => 'unknown')
    return { status, durationMs, headerDialect, managedVersions }
  } finally {
    client.close()
  }
}
