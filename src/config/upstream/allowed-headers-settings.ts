import { z } from 'zod'
import { lancedbServerHeader } from '../../catalog-api/index.ts'
import { fieldNameGrammar } from '../../lib/index.ts'
import { refuse } from '../../settings/index.ts'

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
  [/[^a-z0-9-]/, 'some servers read other characters as -; expected letters, digits and - only'],
  [
    /^(connection|expect|host|http2-settings|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/,
    'it is a hop-by-hop header',
  ],
  [/^content-/, 'the gateway sets it for the body'],
  [/^x-request-id$/, 'the gateway sets it'],
  [/^x-(catalog|lance)-/, 'the gateway sets the headers of the catalog API and forwards the context'],
]

const identifiesCaller =
  'it can identify the caller, and any caller could send it; expected `identity: assertion`'
/**
 * Words in the names of headers that identify or describe a caller, alone or within others: `x-userinfo`. No list of the
 * proxies that set such headers is complete, so a harmless name with such a word is refused, too.
 */
const identityWords =
  /access|account|actor|admin|anonymous|assert|auth|behalf|caller|cert|claim|consumer|credential|delegat|entitlement|group|ident|impersonat|jwt|login|mail|member|oidc|openid|owner|passw|permission|person|principal|privilege|profile|remote|role|saml|scope|secret|session|spiffe|subject|tailnet|token|user/
/** The same, but parts of ordinary words, too. */
const shortIdentityWords = /(^|-)(client|dn|gid|oid|ssl|sso|sub|tls|uid|upn)(-|$)/

const forbiddenRequestHeaders: ForbiddenHeaders = [
  ...reservedHeaders,
  [/^x-lancedb-(database|database-prefix|user-id)$/, 'expected the setting `database` of the upstream'],
  [/^accept-encoding$/, 'the gateway reads responses and requests them uncompressed'],
  [/^(if-.*|range)$/, 'only reads of blobs can be conditional or partial, and forward it'],
  [
    /^via$|(^|-)(addr|address|forwarded|host|ip|method|original|path|peer|real|rewrite|uri|url)(-|$)/,
    'upstreams trust it if a proxy sends it, so callers must not set it',
  ],
  [
    /^(authorization|cookie2?|x-access-token|x-auth-token|x-amz-security-token)$|api-?key/,
    'it is a credential; expected `identity: original`, or the `credential` of the gateway',
  ],
  [
    /external-?blob|(^|-)(initial-?|target-?)?bases$/,
    'it could let the upstream read further objects, which policies decide on (ReferenceData)',
  ],
  [
    /^(x-vend-credentials|x-iceberg-access-delegation)$/,
    'it requests storage credentials, which policies decide on',
  ],
  [identityWords, identifiesCaller],
  [shortIdentityWords, identifiesCaller],
  [
    /^(x-)?(amz|amzn|apigateway|apigee|azure|cf|endpoint|envoy|fastly|goog|istio|kong|ms|pomerium|tailscale|traefik|vouch)-/,
    'proxies and clouds set headers with this prefix, and upstreams trust them',
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

function allowedHeadersSchema(always: ReadonlySet<string>, reasons: ForbiddenHeaders) {
  const name = z
    .string()
    .toLowerCase()
    .superRefine(
      refuse((text) => {
        const problem = findHeaderProblem(text, always, reasons)
        return problem && `${JSON.stringify(text)}: ${problem}`
      }),
    )
  return z.array(name).default([])
}

export const allowedHeadersSettings = {
  allowedRequestHeaders: allowedHeadersSchema(allowedRequestHeaders, forbiddenRequestHeaders).describe(
    'Request headers forwarded in addition to those of the catalog API. Headers that identify the caller are refused: any caller could send them.',
  ),
  allowedResponseHeaders: allowedHeadersSchema(allowedResponseHeaders, forbiddenResponseHeaders).describe(
    'Response headers forwarded in addition to those of the catalog API.',
  ),
}

function findHeaderProblem(
  name: string,
  always: ReadonlySet<string>,
  reasons: ForbiddenHeaders,
): string | undefined {
  if (!fieldNameGrammar.test(name)) return 'expected the name of a header'
  if (always.has(name)) return 'it is always forwarded; remove it'
  return reasons.find(([names]) => names.test(name))?.[1]
}
