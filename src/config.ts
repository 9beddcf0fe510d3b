import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { auditSchema, withAbsoluteAuditPaths } from './audit/settings.ts'
import { limitsSchema, listenSchema, timeoutsSchema, type TlsSettings } from './gateway/edge-settings.ts'
import { withAbsoluteFiles } from './gateway/upstream-files.ts'
import { upstreamSchema, upstreamsSchema, type UpstreamSettings } from './gateway/upstream-settings.ts'
import { callerIdentityMistake } from './gateway/caller-headers.ts'
import { identitySchema, withAbsoluteIdentityPaths } from './identity/settings.ts'
import { policySettingsSchema, withAbsolutePolicyPaths } from './policy/settings.ts'
import { readSettings } from './settings.ts'
import { logLevels } from './telemetry/log.ts'

const port = z.int().min(0).max(65_535)
const path = z.string().min(1)

/** The settings of `catalog-gateway serve`, as they stand in its YAML file. */
const gatewaySchema = z
  .strictObject({
    listen: listenSchema.prefault({}),
    admin: z.strictObject({ host: z.string().default('127.0.0.1'), port: port.default(2334) }).prefault({}),
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
    log: z.strictObject({ level: z.enum(logLevels).default('info') }).prefault({}),
  })
  .refine(({ upstream, upstreams }) => (upstream === undefined) !== (upstreams === undefined), {
    path: ['upstream'],
    message: 'expected either upstream or upstreams',
  })
  .superRefine(({ upstream, upstreams = [], identity, listen }, context) => {
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
  const { upstream, upstreams, listing, ...settings } = sent
  const absolute = (path: string): string => resolve(folder, path)
  return {
    ...settings,
    listen: {
      ...settings.listen,
      ...(settings.listen.tls && { tls: absoluteTls(settings.listen.tls, absolute) }),
    },
    upstreams: (upstreams ?? (upstream ? [upstream] : [])).map((each) => withAbsoluteFiles(each, absolute)),
    identity: withAbsoluteIdentityPaths(settings.identity, absolute),
    policies: withAbsolutePolicyPaths(settings.policies, absolute),
    audit: withAbsoluteAuditPaths(settings.audit, absolute),
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
