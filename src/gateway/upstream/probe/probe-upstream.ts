import { headerDialectNames, headerDialects, type HeaderDialect } from '../../../catalog-api/headers.ts'
import { openApiPath } from '../../../catalog-api/openapi/openapi-document.ts'
import { upstreamBounds } from '../../bounds.ts'
import { openOwnClient, type UpstreamAccess } from '../own-client.ts'

/** The result of a few reads from an upstream. */
export interface UpstreamProbe {
  /** Of a listing of its root namespace, with the credential of the gateway. */
  readonly status: number
  /** Milliseconds until the whole listing was there. */
  readonly durationMs: number
  /** The headers that its OpenAPI document names; undefined if it has none that names them. */
  readonly headerDialect: HeaderDialect | undefined
}

/** Reads from an upstream, and changes nothing. Rejects if it does not respond within its timeouts. */
export async function probeUpstream(options: UpstreamAccess): Promise<UpstreamProbe> {
  const { connectTimeoutMs, healthCheckTimeoutMs } = upstreamBounds
  const client = openOwnClient(options, connectTimeoutMs)
  try {
    const startedAt = performance.now()
    const { status } = await client.probe(AbortSignal.timeout(healthCheckTimeoutMs))
    const durationMs = Math.round(performance.now() - startedAt)
    const document = await client.get(openApiPath, AbortSignal.timeout(healthCheckTimeoutMs))
    const text = document.status === 200 ? document.body.toString('utf8') : ''
    const headerDialect = headerDialectNames.find((name) => text.includes(headerDialects[name].location))
    return { status, durationMs, headerDialect }
  } finally {
    client.close()
  }
}
