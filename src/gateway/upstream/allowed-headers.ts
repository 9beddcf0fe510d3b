import { z } from 'zod'
import { lancedbServerHeader } from '../../interface/headers.ts'
import { fieldNameGrammar } from '../../lib/http/field-name.ts'

/**
 * The headers of callers that every upstream gets besides those of `dialects`: what clients of the interface send,
 * content negotiation, and W3C Trace Context. The gateway writes all others itself.
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

/** The headers of upstreams that every caller gets; the gateway writes all others itself. */
export const allowedResponseHeaders: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'retry-after',
  'x-lancedb-version',
  lancedbServerHeader,
])

/** Names that no setting can allow, and what to do instead. */
type Reasons = readonly (readonly [names: RegExp, reason: string])[]

const reserved: Reasons = [
  [/_/, 'some servers read _ as -; expected a name without it'],
  [
    /^(connection|expect|host|http2-settings|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/,
    'it belongs to one connection',
  ],
  [/^content-/, 'the gateway writes what the body needs'],
  [/^x-request-id$/, 'the gateway sends it by itself'],
  [/^x-(catalog|lance)-/, 'the gateway writes the headers of the interface; the context is sent by itself'],
]

const notOfCallers: Reasons = [
  ...reserved,
  [/^x-lancedb-(database|database-prefix|user-id)$/, 'expected the setting `database` of the upstream'],
  [/^accept-encoding$/, 'the gateway reads responses, and asks for none that are compressed'],
  [/^(if-.*|range)$/, 'the interface has no conditional requests and no partial responses'],
  [
    /^(forwarded|via|x-forwarded-.*|x-real-ip|x-original-.*|x-rewrite-url|x-http-method.*|x-method-override)$/,
    'upstreams believe a proxy that sends it, and a caller must not be one',
  ],
  [
    /^(authorization|cookie|(x-)?api-key|x-access-token|x-auth-token|x-amz-security-token|x-goog-api-key)$/,
    'it is a credential; expected `identity: original`, or the `credential` of the gateway',
  ],
  [
    /(^|-)(remote-user|webauth-user|impersonate-.*|auth-request-.*|ssl-client-.*|client-cert.*)$|^cf-access-|^x-goog-(iap|authenticated)-|^x-ms-client-principal|^x-amzn-oidc-|-assertion$/,
    'it says who calls, and any caller could send it; expected `identity: assertion`',
  ],
  [
    /^(x-vend-credentials|x-iceberg-access-delegation)$/,
    'it asks for storage credentials, on which policies decide',
  ],
]

const notOfUpstreams: Reasons = [
  ...reserved,
  [
    /^(set-cookie2?|www-authenticate|authentication-info|authorization|x-api-key)$/,
    'callers authenticate to the gateway, not to the upstream',
  ],
  [/^location$/, 'redirects are not followed'],
]

const allowedList = (always: ReadonlySet<string>, reasons: Reasons) =>
  z
    .array(z.string().toLowerCase())
    .default([])
    .superRefine((names, context) => {
      for (const [index, name] of names.entries()) {
        const mistake = mistakeIn(name, always, reasons)
        if (mistake !== undefined) {
          context.addIssue({ code: 'custom', path: [index], message: `${JSON.stringify(name)}: ${mistake}` })
        }
      }
    })

/** The settings of an upstream that allow more of either. */
export const allowedHeadersSettings = {
  allowedRequestHeaders: allowedList(allowedRequestHeaders, notOfCallers).describe(
    'Headers of callers that it gets besides those of the interface. None that say who calls: anybody could send them.',
  ),
  allowedResponseHeaders: allowedList(allowedResponseHeaders, notOfUpstreams).describe(
    'Headers of its responses that callers get besides those of the interface.',
  ),
}

function mistakeIn(name: string, always: ReadonlySet<string>, reasons: Reasons): string | undefined {
  if (!fieldNameGrammar.test(name)) return 'expected the name of a header'
  if (always.has(name)) return 'it passes always; leave it out'
  return reasons.find(([names]) => names.test(name))?.[1]
}
