import { z } from 'zod'
import { hostNamePattern } from '../lib/index.ts'
import { listenHost, outboundSchema, path, portNumber } from '../settings/index.ts'
import { auditSchema } from './audit-settings.ts'
import { identitySchema } from './identity-settings.ts'
import { limitsSchema, listenSchema, timeoutsSchema } from './listen-settings.ts'
import { passThroughSchema } from './pass-through-settings.ts'
import { policySettingsSchema } from './policy-settings.ts'
import { logSchema, tracesSchema } from './telemetry-settings.ts'
import { upstreamSchema, upstreamsSchema } from './upstream/upstream-settings.ts'

const crossSiteSchema = z.strictObject({
  allowedOrigins: z
    .array(z.string().refine(isOrigin, 'expected an origin as browsers send it: https://console.example'))
    .default([])
    .describe(
      'Origins whose pages may send requests with credentials that browsers add of themselves. Only needed for pages of ' +
        'other hosts, and behind a proxy that changes the host header.',
    ),
})

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

/** Settings that `unsafe` can accept. Tokens without an audience are not among them: no setting allows them. */
const unsafeNames = ['development-key', 'development-policies', 'open-console', 'plain-http-issuer'] as const

export type UnsafeName = (typeof unsafeNames)[number]

/** The sections of the settings of a gateway, each correct by itself. */
export const sectionsSchema = z.strictObject({
  listen: listenSchema.prefault({}),
  admin: z
    .strictObject({
      host: listenHost.default('127.0.0.1').describe('Listen address.'),
      port: portNumber.default(2334).describe('0 picks a free one.'),
      allowedHosts: z
        .array(
          z
            .string()
            .refine(
              (name) => hostNamePattern.test(name.replace(/^\./, '')),
              'expected a host name in lower case, without a port: "metrics.example"',
            ),
        )
        .default([])
        .describe(
          'Names in requests for the port, in addition to IP addresses, localhost and admin.host; one that begins with a ' +
            'dot includes its subdomains. Requests for other names get 403 (against DNS rebinding).',
        ),
      console: z
        .boolean()
        .default(false)
        .describe(
          'Whether /console is served: a page that shows principals, ids and policies without authentication.',
        ),
    })
    .prefault({})
    .describe('Health and metrics, without authentication.'),
  upstream: upstreamSchema.optional().describe('The upstream catalog, if there is one.'),
  upstreams: upstreamsSchema.optional().describe('The upstream catalogs, if there are several.'),
  passThrough: passThroughSchema
    .optional()
    .describe('Routes that are not for the catalog, such as its web console; see docs/upstreams.md.'),
  databases: z
    .enum(['refused', 'namespaces'])
    .default('refused')
    .describe(
      'What the databases of LanceDB clients (db://NAME, connect_catalog) are: the namespaces of the root, or nothing. ' +
        'The root is the `database` of its upstream, or `any`; see docs/upstreams.md.',
    ),
  identity: identitySchema,
  crossSite: crossSiteSchema
    .prefault({})
    .describe('Requests that browsers send for pages of other sites; see docs/authentication.md.'),
  policies: policySettingsSchema,
  audit: auditSchema,
  dialects: z
    .array(z.enum(['lance']))
    .default([])
    .describe('Accepted header dialects besides that of the catalog API.'),
  limits: limitsSchema.prefault({}),
  timeouts: timeoutsSchema.prefault({}),
  listing: z
    .strictObject({
      tokenKeyFile: path.describe(
        'File with a secret of at least 32 bytes, shared by all replicas, for page tokens and ids of jobs and multipart writes.',
      ),
    })
    .optional()
    .describe('Page tokens of listings; by default with a key that is generated in the audit folder.'),
  outbound: outboundSchema
    .prefault({})
    .describe('Connections to other hosts: proxy, and trusted authorities.'),
  log: logSchema.prefault({}).describe('JSON lines on standard error; on a terminal, lines for a person.'),
  traces: tracesSchema
    .optional()
    .describe('Enables the export of request spans with OpenTelemetry, even if empty.'),
  unsafe: z
    .array(z.enum(unsafeNames))
    .default([])
    .describe('Accepted unsafe settings; the error message of a refused setting names the value.'),
})

export type Sections = z.output<typeof sectionsSchema>

/** The upstream catalogs, one or several, each with the path of its settings. */
export function listCatalogs({ upstream, upstreams = [] }: Pick<Sections, 'upstream' | 'upstreams'>) {
  return [
    ...(upstream ? [{ path: ['upstream'], catalog: upstream }] : []),
    ...upstreams.map((catalog, index) => ({ path: ['upstreams', index], catalog })),
  ]
}
