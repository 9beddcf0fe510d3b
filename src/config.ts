import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { auditSchema, withAbsoluteAuditPaths } from './audit/settings.ts'
import { limitsSchema, listenSchema, timeoutsSchema, type TlsSettings } from './config/listen-settings.ts'
import { withAbsoluteFiles } from './gateway/upstream/upstream-files.ts'
import {
  upstreamSchema,
  upstreamsSchema,
  type UpstreamSettings,
} from './gateway/upstream/upstream-settings.ts'
import { callerIdentityMistake } from './gateway/upstream/caller-headers.ts'
import { identitySchema, withAbsoluteIdentityPaths } from './identity/settings.ts'
import { withAbsoluteSharedPaths } from './limits/shared/shared-settings.ts'
import { policySettingsSchema, withAbsolutePolicyPaths } from './policy/settings.ts'
import { readSettings } from './settings.ts'
import { logSchema } from './telemetry/log.ts'
import { metricsSchema } from './telemetry/metrics-settings.ts'
import { tracesSchema, withAbsoluteTracesPaths } from './telemetry/traces-settings.ts'
import { unsafeNames, unsafeSettings } from './unsafe-settings.ts'

const port = z.int().min(0).max(65_535)
const path = z.string().min(1)

/** The settings of `catalog-gateway serve`, as they stand in its YAML file. */
export const gatewaySchema = z
  .strictObject({
    listen: listenSchema.prefault({}),
    admin: z
      .strictObject({
        host: z.string().default('127.0.0.1').describe('The address that is listened on.'),
        port: port.default(2334).describe('0 picks a free one.'),
        console: z
          .boolean()
          .default(false)
          .describe(
            'Whether /console is served: a page that shows principals and ids to whoever gets there.',
          ),
      })
      .prefault({})
      .describe('Health and metrics; it asks for no credentials.'),
    workers: z
      .union([z.literal('auto'), z.int().min(1).max(64)])
      .default(1)
      .describe(
        'Processes that share the port, for one core each; auto is one for each core that the process may use. Each ' +
          'has an audit log of its own. Rates and bytes are counted for all of them. What else is a total is divided: ' +
          'limits.connections, connectionsPerClient, concurrency and failedAuthentications, the connections and ' +
          'waiting requests of upstreams, audit.reserveBytes and audit.retention.bytes.',
      ),
    upstream: upstreamSchema.optional().describe('The catalog behind the gateway, where there is one.'),
    upstreams: upstreamsSchema
      .optional()
      .describe('The catalogs behind the gateway, where there are several.'),
    identity: identitySchema,
    policies: policySettingsSchema,
    audit: auditSchema,
    dialects: z
      .array(z.enum(['lance']))
      .default([])
      .describe('Header names accepted besides those of the interface.'),
    limits: limitsSchema.prefault({}),
    timeouts: timeoutsSchema.prefault({}),
    listing: z
      .strictObject({
        tokenKeyFile: path.describe('A secret of at least 32 bytes, the same for all replicas.'),
      })
      .optional()
      .describe('Page tokens of listings; those of a gateway without a secret end with it.'),
    metrics: metricsSchema.optional().describe('What metrics tell besides what they always do.'),
    log: logSchema.prefault({}).describe('Lines of JSON on standard error.'),
    traces: tracesSchema
      .optional()
      .describe('Given, even if empty, spans of requests are sent by OpenTelemetry.'),
    unsafe: z
      .array(z.enum(unsafeNames))
      .default([])
      .describe('What would be refused as unsafe, and is meant: the refusal says which name accepts it.'),
  })
  .refine(({ upstream, upstreams }) => (upstream === undefined) !== (upstreams === undefined), {
    path: ['upstream'],
    message: 'expected either upstream or upstreams',
  })
  .superRefine((settings, context) => {
    const { upstream, upstreams = [], identity, listen } = settings
    const mistake = (path: (string | number)[], message: string | undefined): void => {
      if (message !== undefined) context.addIssue({ code: 'custom', path, message })
    }
    if (upstream) mistake(['upstream', 'identity'], callerIdentityMistake(upstream, identity.assertion))
    for (const [index, each] of upstreams.entries()) {
      mistake(['upstreams', index, 'identity'], callerIdentityMistake(each, identity.assertion))
    }
    if (identity.clientCertificates && (listen.tls?.clientCertificate ?? 'none') === 'none') {
      mistake(
        ['identity', 'clientCertificates'],
        'expected listen.tls.clientCertificate to be optional or required: nobody is asked for one',
      )
    }
    if (settings.workers !== 1) {
      if (settings.admin.console) {
        mistake(['admin', 'console'], 'the console shows what one process does; expected workers: 1')
      }
      if (settings.audit.continuity === 'warn') {
        mistake(
          ['audit', 'continuity'],
          'each worker knows only the versions of its own log; expected off, or workers: 1',
        )
      }
    }
    for (const { path, message } of unsafeSettings(settings)) mistake([...path], message)
  })

/** The settings of a gateway, checked, with every default filled in and every path absolute. */
export type GatewaySettings = Omit<z.output<typeof gatewaySchema>, 'upstream' | 'upstreams'> & {
  /** One without namespaces, and any number with them. */
  readonly upstreams: readonly UpstreamSettings[]
}

/**
 * Reads the settings of a gateway from a YAML file and the environment, which wins: `upstream.url` is
 * `CATALOG_GATEWAY__UPSTREAM__URL`. Throws SettingsError that lists every mistake with file and line.
 */
export async function readGatewaySettings(
  file: string,
  environment: NodeJS.ProcessEnv,
): Promise<GatewaySettings> {
  const settings = readSettings(gatewaySchema, { file, text: await readFile(file, 'utf8'), environment })
  return withAbsolutePaths(settings, dirname(resolve(file)))
}

/** Paths in a settings file are relative to the file itself. */
function withAbsolutePaths(sent: z.output<typeof gatewaySchema>, folder: string): GatewaySettings {
  const { upstream, upstreams, listing, traces, ...settings } = sent
  const absolute = (path: string): string => resolve(folder, path)
  const { shared } = settings.limits
  return {
    ...settings,
    limits: { ...settings.limits, ...(shared && { shared: withAbsoluteSharedPaths(shared, absolute) }) },
    listen: {
      ...settings.listen,
      ...(settings.listen.tls && { tls: absoluteTls(settings.listen.tls, absolute) }),
    },
    upstreams: (upstreams ?? (upstream ? [upstream] : [])).map((each) => withAbsoluteFiles(each, absolute)),
    identity: withAbsoluteIdentityPaths(settings.identity, absolute),
    policies: withAbsolutePolicyPaths(settings.policies, absolute),
    audit: {
      ...withAbsoluteAuditPaths(settings.audit, absolute),
      continuity: settings.audit.continuity ?? (settings.workers === 1 ? 'warn' : 'off'),
    },
    ...(traces && { traces: withAbsoluteTracesPaths(traces, absolute) }),
    ...(listing && { listing: { tokenKeyFile: absolute(listing.tokenKeyFile) } }),
  }
}

function absoluteTls(tls: TlsSettings, absolute: (path: string) => string): TlsSettings {
  const { clientCertificateAuthority: authority, clientRevocationList: revoked } = tls
  return {
    ...tls,
    certificate: absolute(tls.certificate),
    key: absolute(tls.key),
    ...(authority !== undefined && { clientCertificateAuthority: absolute(authority) }),
    ...(revoked !== undefined && { clientRevocationList: absolute(revoked) }),
  }
}
