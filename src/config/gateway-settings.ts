import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { hostNamePattern } from '../lib/index.ts'
import { auditSchema } from './audit-settings.ts'
import { addProblems, listenHost, outboundSchema, path, portNumber, readSettings } from '../settings/index.ts'
import { findClientStatementProblems, findImpossibleNamespaces } from './settings-problems.ts'
import { findListenConflicts } from './listen-conflicts.ts'
import { limitsSchema, listenSchema, timeoutsSchema } from './listen-settings.ts'
import { listCommonSeparators } from '../catalog-api/index.ts'
import {
  findCallerIdentityProblem,
  upstreamSchema,
  upstreamsSchema,
  type UpstreamSettings,
} from './upstream/upstream-settings.ts'
import { identitySchema } from './identity-settings.ts'
import { findPassThroughProblems, passThroughSchema } from './pass-through-settings.ts'
import { findUnknownDelegatedNames, policySettingsSchema } from './policy-settings.ts'
import { logSchema, metricsSchema, tracesSchema } from './telemetry-settings.ts'
import { unsafeNames, findUnsafeSettings } from './unsafe-settings.ts'

const crossSiteSchema = z.strictObject({
  allowedOrigins: z
    .array(z.string().refine(isOrigin, 'expected an origin as browsers send it: https://console.example'))
    .default([])
    .describe(
      'Origins whose pages may send requests with credentials that browsers add of themselves: client certificates, and ' +
        'what an embedding application authenticates by. Only needed for pages of other hosts, and behind a proxy that ' +
        'changes the host header.',
    ),
})

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

/** Of a gateway with a server of its own, or in the server of an application. */
export const anyGatewaySchema = z
  .strictObject({
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
              'dot includes its subdomains. Requests for other names get 403: a page could give its own name the address ' +
              'of the port (DNS rebinding).',
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
      .describe('Routes that are not for the catalog, such as its web console; see docs/pass-through.md.'),
    databases: z
      .enum(['refused', 'namespaces'])
      .default('refused')
      .describe(
        'What the databases of LanceDB clients (db://NAME, connect_catalog) are. `namespaces`: the namespaces of the root; ids ' +
          'of a client are relative to its database. `refused`: nothing; other names than that of the root are refused. The ' +
          'root is the `database` of its upstream, or `any`.',
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
    metrics: metricsSchema.optional().describe('Additional metric labels.'),
    log: logSchema.prefault({}).describe('JSON lines on standard error; on a terminal, lines for a person.'),
    traces: tracesSchema
      .optional()
      .describe('Enables the export of request spans with OpenTelemetry, even if empty.'),
    unsafe: z
      .array(z.enum(unsafeNames))
      .default([])
      .describe('Accepted unsafe settings; the error message of a refused setting names the value.'),
  })
  .refine(({ upstream, upstreams }) => (upstream === undefined) !== (upstreams === undefined), {
    path: ['upstream'],
    message: 'expected either upstream or upstreams',
  })
  .superRefine((settings, context) => {
    const { upstream, upstreams = [], identity } = settings
    const addIssue = (path: (string | number)[], message: string | undefined): void => {
      if (message !== undefined) context.addIssue({ code: 'custom', path, message })
    }
    if (upstream) addIssue(['upstream', 'identity'], findCallerIdentityProblem(upstream, identity.assertion))
    for (const [index, each] of upstreams.entries()) {
      addIssue(['upstreams', index, 'identity'], findCallerIdentityProblem(each, identity.assertion))
    }
    const catalogs = upstream === undefined ? upstreams : [upstream, ...upstreams]
    addProblems(context, findListenConflicts(settings))
    addProblems(context, findPassThroughProblems(settings))
    if (context.issues.length === 0) {
      const separators = listCommonSeparators(catalogs.map(({ delimiter }) => delimiter))
      addProblems(context, findUnknownDelegatedNames({ ...settings, upstreams: catalogs }))
      addProblems(context, findImpossibleNamespaces(settings, separators))
    }
    addProblems(context, findUnsafeSettings(settings))
  })

/** Of a gateway with a server of its own. */
export const gatewaySettingsSchema = anyGatewaySchema.superRefine((settings, context) =>
  addProblems(context, findClientStatementProblems(settings)),
)

/** Effective settings of a gateway: defaults filled in, paths absolute. */
export type GatewaySettings = Omit<z.output<typeof gatewaySettingsSchema>, 'upstream' | 'upstreams'> & {
  /** One without namespaces, and any number with namespaces. */
  readonly upstreams: readonly UpstreamSettings[]
}

/**
 * Reads the settings from a YAML file and the environment, which takes precedence: `upstream.url` is
 * `CATALOG_GATEWAY__UPSTREAM__URL`. Throws SettingsError with every error, by file, line and column.
 */
export async function readGatewaySettings(
  file: string,
  environment: NodeJS.ProcessEnv,
): Promise<GatewaySettings> {
  return listUpstreams(
    readSettings(gatewaySettingsSchema, { file, text: await readFile(file, 'utf8'), environment }),
  )
}

/** The settings as the gateway uses them: one upstream is a list of one. */
export function listUpstreams({
  upstream,
  upstreams = upstream ? [upstream] : [],
  ...settings
}: z.output<typeof gatewaySettingsSchema>): GatewaySettings {
  return { ...settings, upstreams }
}
