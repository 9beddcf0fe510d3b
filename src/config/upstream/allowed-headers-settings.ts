import { z } from 'zod'
import { lancedbServerHeader } from '../../catalog-api/headers.ts'
import { fieldNameGrammar } from '../../lib/http/field-name.ts'

/**
 * Request headers that every upstream receives besides those of `dialects`: headers of the interface, content
 * negotiation, and W3C Trace Context. The gateway sets all others itself.
 */
export const allowedRequestHeaders: ReadonlySet<string> = new Set([
  'accept',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-lancedb-min-read-version',
  'x-lancedb-min-timestamp',
  'x-lancedb-min-version',
  'x-request-timeout-ms',
])

/**
 * Request headers that every pass-through route forwards: content negotiation, conditional requests, and what browsers
 * send to web applications. Cookies belong to the application, because the gateway reads none.
 */
export const passThroughRequestHeaders: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'access-control-request-headers',
  'access-control-request-method',
  'cache-control',
  'cookie',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-event-id',
  'origin',
  'pragma',
  'range',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'sec-fetch-user',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-csrf-token',
  'x-requested-with',
  'x-xsrf-token',
])

/** Response headers that every caller receives; the gateway sets all others itself. */
export const allowedResponseHeaders: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'retry-after',
  'x-lancedb-version',
  lancedbServerHeader,
])

/** Names that no setting can allow, with the alternative to suggest. */
type ForbiddenHeaders = readonly (readonly [names: RegExp, reason: string])[]

const reservedHeaders: ForbiddenHeaders = [
  [/_/, 'some servers read _ as -; expected a name without _'],
  [
    /^(connection|expect|host|http2-settings|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/,
    'it is a hop-by-hop header',
  ],
  [/^content-/, 'the gateway sets it for the body'],
  [/^x-request-id$/, 'the gateway sets it'],
  [/^x-(catalog|lance)-/, 'the gateway sets the headers of the catalog API and forwards the context'],
]

const forbiddenRequestHeaders: ForbiddenHeaders = [
  ...reservedHeaders,
  [/^x-lancedb-(database|database-prefix|user-id)$/, 'expected the setting `database` of the upstream'],
  [/^accept-encoding$/, 'the gateway reads responses and requests them uncompressed'],
  [/^(if-.*|range)$/, 'the catalog API has no conditional requests and no partial responses'],
  [
    /^(forwarded|via|x-forwarded-.*|x-real-ip|x-original-.*|x-rewrite-url|x-http-method.*|x-method-override)$/,
    'upstreams trust it if a proxy sends it, so callers must not set it',
  ],
  [
    /^(authorization|cookie|(x-)?api-key|x-access-token|x-auth-token|x-amz-security-token|x-goog-api-key)$/,
    'it is a credential; expected `identity: original`, or the `credential` of the gateway',
  ],
  [
    /(^|-)(remote-user|webauth-user|impersonate-.*|auth-request-.*|ssl-client-.*|client-cert.*)$|^cf-access-|^x-goog-(iap|authenticated)-|^x-ms-client-principal|^x-amzn-oidc-|-assertion$/,
    'it identifies the caller, and any caller could send it; expected `identity: assertion`',
  ],
  [
    /^(x-vend-credentials|x-iceberg-access-delegation)$/,
    'it requests storage credentials, which policies decide on',
  ],
]

const forbiddenResponseHeaders: ForbiddenHeaders = [
  ...reservedHeaders,
  [
    /^(set-cookie2?|www-authenticate|authentication-info|authorization|x-api-key)$/,
    'callers authenticate to the gateway, not to the upstream',
  ],
  [/^location$/, 'redirects are not followed'],
]

const allowedHeadersSchema = (always: ReadonlySet<string>, reasons: ForbiddenHeaders) =>
  z
    .array(z.string().toLowerCase())
    .default([])
    .superRefine((names, context) => {
      for (const [index, name] of names.entries()) {
        const error = findHeaderProblem(name, always, reasons)
        if (error !== undefined) {
          context.addIssue({ code: 'custom', path: [index], message: `${JSON.stringify(name)}: ${error}` })
        }
      }
    })

export const allowedHeadersSettings = {
  allowedRequestHeaders: allowedHeadersSchema(allowedRequestHeaders, forbiddenRequestHeaders).describe(
    'Request headers forwarded in addition to those of the catalog API. Headers that identify the caller are refused: any caller could send them.',
  ),
  allowedResponseHeaders: allowedHeadersSchema(allowedResponseHeaders, forbiddenResponseHeaders).describe(
    'Response headers forwarded in addition to those of the catalog API.',
  ),
}

export const passThroughHeadersSetting = allowedHeadersSchema(
  passThroughRequestHeaders,
  forbiddenRequestHeaders,
)

function findHeaderProblem(
  name: string,
  always: ReadonlySet<string>,
  reasons: ForbiddenHeaders,
): string | undefined {
  if (!fieldNameGrammar.test(name)) return 'expected the name of a header'
  if (always.has(name)) return 'it is always forwarded; remove it'
  return reasons.find(([names]) => names.test(name))?.[1]
}
