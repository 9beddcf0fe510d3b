import { z } from 'zod'
import { resolveTlsFiles } from '../../lib/tls/tls-files.ts'
import { catalogAddressSettings, resolveAddressFiles } from './catalog-address-settings.ts'
import { tlsFiles } from '../../lib/tls/tls-files.ts'
import {
  assertIdentifier,
  assertSeparable,
  defaultDelimiter,
  quotesInNames,
  quoteForMessage,
  type Identifier,
  type QuotesInNames,
} from '../../catalog-api/identifiers.ts'
import { allowedColumnMetadataSettings } from './allowed-column-metadata-settings.ts'
import { allowedHeadersSettings } from './allowed-headers-settings.ts'
import { allowedMembersSetting } from './allowed-members-setting.ts'
import { allowedQueryParametersSetting } from './allowed-query-parameters-setting.ts'
import { extraOperationsSetting, findExtraOperationProblems } from './extra-operations-setting.ts'
import { callerIdentities } from './caller-identity.ts'

const milliseconds = z.int().positive().max(2_147_483_647)

const timeoutsSchema = z.strictObject({
  connectTimeoutMs: milliseconds.default(5_000).describe('Connect timeout, including TLS.'),
  responseHeadersTimeoutMs: milliseconds
    .default(300_000)
    .describe('From the end of the request to the response headers; for an upload, between two chunks sent.'),
  responseBodyTimeoutMs: milliseconds.default(60_000).describe('Between two chunks of the response body.'),
  totalTimeoutMs: milliseconds.default(3_600_000).describe('For a whole attempt.'),
})

const healthSchema = z.strictObject({
  path: z
    .string()
    .regex(/^\/[\x21-\x7e]*$/)
    .optional()
    .describe('Path of the health check; default: list one name of the root namespace.'),
  intervalMs: milliseconds.default(5_000).describe('Between two checks while they pass.'),
  timeoutMs: milliseconds.default(2_000).describe('Timeout of a check.'),
})

const retriesSchema = z.strictObject({
  maxRetries: z.int().min(0).max(5).default(1).describe('Maximum retries of a read.'),
})

/** Header-safe parts, joined by slashes. */
const databasePattern = /^[\x21-\x2e\x30-\x7e]+(\/[\x21-\x2e\x30-\x7e]+)*$/

const upstreamFieldsSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .default('catalog')
    .describe('Name in metrics, the log and audit records.'),
  ...catalogAddressSettings,
  reservedInNames: z
    .array(z.string().min(1).max(16))
    .default([defaultDelimiter])
    .describe(
      'Strings that names must not contain, besides the delimiter: some catalogs join the parts of an id with `$`, unescaped, ' +
        'whatever the delimiter. Empty if the catalog does not.',
    ),
  quotesInNames: z
    .enum(quotesInNames)
    .default('refused')
    .describe(
      'Whether names may contain quotes (\', " and `). Allow them only if the catalog never pastes names into SQL: a quote ' +
        'would end the text there. Requires `unsafe: [quotes-in-names]`.',
    ),
  clientCertificate: tlsFiles.clientCertificate,
  serverName: z
    .string()
    .min(1)
    .optional()
    .describe('Expected name in the certificate, if it is not the host of the URL.'),
  credential: catalogAddressSettings.credential.describe('Credential of the gateway.'),
  identity: z
    .enum(callerIdentities)
    .default('none')
    .describe(
      'How the caller is identified to the upstream: not at all, with its original credential, or with a signed assertion.',
    ),
  database: z
    .string()
    .regex(databasePattern, 'expected the name of a database, and its prefix if it has one: "sales/eu"')
    .optional()
    .describe(
      'Database of a LanceDB server, as in db://DATABASE/PREFIX, for all requests. For clients of LanceDB, it is the ' +
        'database of the root. Without it, no database is sent.',
    ),
  ...allowedHeadersSettings,
  allowedQueryParameters: allowedQueryParametersSetting,
  allowedMembers: allowedMembersSetting,
  ...allowedColumnMetadataSettings,
  extraOperations: extraOperationsSetting,
  maxConnections: catalogAddressSettings.maxConnections.describe(
    'Maximum connections for small requests; listings have an eighth as many of their own, at least 4.',
  ),
  maxBulkConnections: z
    .int()
    .positive()
    .default(1_024)
    .describe(
      'Maximum connections for streamed bodies (Arrow, large JSON). One principal may ' +
        'use as many as stay free: half of them if it is alone.',
    ),
  compareVersionsSeconds: z
    .int()
    .positive()
    .max(86_400)
    .optional()
    .describe(
      'At most this long between two comparisons of the newest version of each table with the known one: versions that ' +
        'clients committed past the gateway are recorded in the audit log. By default there are none.',
    ),
  timeouts: timeoutsSchema.prefault({}),
  healthCheck: healthSchema.prefault({}),
  retries: retriesSchema.prefault({}),
})

const tlsRequiresHttps = 'expected an https URL, because TLS files or serverName are set'

export const upstreamSchema = upstreamFieldsSchema
  .refine(hasHttpsIfTlsFiles, tlsRequiresHttps)
  .superRefine((upstream, context) => {
    for (const { path, message } of findExtraOperationProblems([upstream]))
      context.addIssue({ code: 'custom', path: path.slice(1), message })
  })

/** Settings of several upstreams: each serves its namespaces; the one without namespaces serves the rest. */
export const upstreamsSchema = z
  .array(
    upstreamFieldsSchema
      .extend({
        namespaces: z
          .array(
            z
              .array(z.string())
              .min(1)
              .refine((id) => isIdentifier(id, 'allowed'), 'expected a list of names'),
          )
          .min(1)
          .optional()
          .describe('Namespaces of this upstream, each as a list of names.'),
      })
      .refine(hasHttpsIfTlsFiles, tlsRequiresHttps),
  )
  .min(1)
  .superRefine((upstreams, context) => {
    const addIssue = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message })
    for (const { path, message } of findExtraOperationProblems(upstreams)) addIssue([...path], message)
    const names = new Set<string>()
    const prefixes = new Set<string>()
    for (const [index, upstream] of upstreams.entries()) {
      const { name, namespaces = [], delimiter, reservedInNames } = upstream
      if (names.has(name)) addIssue([index, 'name'], `duplicate upstream name "${name}"`)
      names.add(name)
      for (const [position, namespace] of namespaces.entries()) {
        const prefix = JSON.stringify(namespace)
        if (prefixes.has(prefix))
          addIssue([index, 'namespaces', position], `${prefix} is assigned to two upstreams`)
        prefixes.add(prefix)
        if (isIdentifier(namespace, 'allowed') && !isIdentifier(namespace, upstream.quotesInNames)) {
          addIssue(
            [index, 'namespaces', position],
            `${prefix} has a name with quotes; expected quotesInNames: allowed`,
          )
        }
        const separators = [delimiter, ...reservedInNames]
        if (!isSeparable(namespace, separators)) {
          addIssue(
            [index, 'namespaces', position],
            `${prefix} has a name that contains one of ${separators.map(quoteForMessage).join(', ')}; expected none that ` +
              'delimiter or reservedInNames rules out',
          )
        }
      }
    }
    if (upstreams.filter(({ namespaces }) => namespaces === undefined).length !== 1) {
      addIssue([], 'expected exactly one upstream without namespaces: it serves the root and everything else')
    }
  })

export type UpstreamSettings = z.output<typeof upstreamSchema> & {
  readonly namespaces?: readonly Identifier[] | undefined
}

function isIdentifier(parts: readonly string[], quotes: QuotesInNames): boolean {
  try {
    return assertIdentifier(parts, quotes) === parts
  } catch {
    return false
  }
}

function isSeparable(namespace: Identifier, separators: readonly string[]): boolean {
  try {
    assertSeparable(namespace, separators)
    return true
  } catch {
    return false
  }
}

function hasHttpsIfTlsFiles(settings: z.output<typeof upstreamFieldsSchema>): boolean {
  const { url, caFile, clientCertificate, serverName } = settings
  const hasTlsSettings = [caFile, clientCertificate, serverName].some((value) => value !== undefined)
  return !hasTlsSettings || url.startsWith('https:')
}

export function resolveUpstreamPaths(
  settings: UpstreamSettings,
  absolute: (path: string) => string,
): UpstreamSettings {
  return { ...resolveAddressFiles(settings, absolute), ...resolveTlsFiles(settings, absolute) }
}

export function listUpstreamFiles({ caFile, clientCertificate, credential }: UpstreamSettings): string[] {
  const files = [caFile, clientCertificate?.certFile, clientCertificate?.keyFile, credential?.file]
  return files.filter((file) => file !== undefined)
}
