import { headerDialectNames, headerDialects, type HeaderDialect } from '../../../catalog-api/headers.ts'
import { defaultDelimiter } from '../../../catalog-api/identifiers.ts'
import { openApiPath } from '../../../catalog-api/openapi/openapi-document.ts'
import { parseJsonBytes } from '../../../lib/json/parse-json-bytes.ts'
import { upstreamBounds } from '../../bounds.ts'
import { buildProbeTarget } from '../health-checker.ts'
import { findManagedVersions, type ManagedVersions, type ReadCatalog } from '../managed-versions.ts'
import type { UpstreamOptions } from '../upstream.ts'
import { openProbeClient } from './probe-client.ts'

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

/** Reads from an upstream, and changes nothing. Rejects if it does not respond within its timeouts. */
export async function probeUpstream(options: UpstreamOptions): Promise<UpstreamProbe> {
  const client = openProbeClient(options, upstreamBounds.healthCheckTimeoutMs)
  const read = (target: string) => client.send('GET', target, null)
  const readJson: ReadCatalog = async (...request) => {
    const { status, body } = await client.send(...request)
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
