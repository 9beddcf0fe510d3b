import { Pool } from 'undici'
import { defaultDelimiter } from '../interface/identifiers.ts'
import type { UpstreamDialect } from './match.ts'

/** How to reach the catalog behind the gateway, and what it may be told. */
export interface UpstreamSettings {
  /** A name for logs, metrics and audit records. */
  readonly name: string
  /** `http` or `https`, with an optional path that goes in front of every route. */
  readonly url: string
  /** What joins the parts of an id there. */
  readonly delimiter?: string | undefined
  /** PEM certificates to trust instead of the system's; the certificate of the upstream is always verified. */
  readonly certificateAuthority?: string | undefined
  /** Headers that authenticate the gateway to the upstream. */
  readonly credentials?: Readonly<Record<string, string>> | undefined
  readonly maximumConnections: number
  /** Milliseconds to connect, until the answer begins, and between two pieces of a body. */
  readonly timeouts: { readonly connect: number; readonly answer: number; readonly idle: number }
}

/** The catalog behind the gateway, with its pool of connections. */
export interface Upstream extends UpstreamDialect {
  readonly name: string
  readonly origin: string
  readonly pool: Pool
  /** Header names and values in turn. */
  readonly credentials: readonly string[]
}

/** Opens the pool; no connection is made before the first request. */
export function openUpstream(settings: UpstreamSettings): Upstream {
  const url = new URL(settings.url)
  return {
    name: settings.name,
    origin: url.origin,
    basePath: url.pathname.replace(/\/$/, ''),
    delimiter: settings.delimiter ?? defaultDelimiter,
    credentials: Object.entries(settings.credentials ?? {}).flat(),
    pool: new Pool(url.origin, {
      connections: settings.maximumConnections,
      pipelining: 1,
      connect: {
        timeout: settings.timeouts.connect,
        rejectUnauthorized: true,
        ...(settings.certificateAuthority === undefined ? {} : { ca: settings.certificateAuthority }),
      },
      headersTimeout: settings.timeouts.answer,
      bodyTimeout: settings.timeouts.idle,
    }),
  }
}
