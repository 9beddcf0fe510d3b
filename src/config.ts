import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { tokenIssuersSchema } from './identity/issuers.ts'
import { readSettings } from './settings.ts'
import { logLevels } from './telemetry/log.ts'

const port = z.int().min(0).max(65_535)
const milliseconds = z.int().positive()
const path = z.string().min(1)

const credentialSchema = z
  .strictObject({
    header: z.enum(['authorization', 'x-api-key']).default('authorization'),
    value: z.string().min(1).optional().describe('The value of the header; better given as a file.'),
    file: path.optional().describe('A file that holds the value of the header.'),
  })
  .refine(
    ({ value, file }) => (value === undefined) !== (file === undefined),
    'expected either value or file',
  )

const upstreamSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .default('catalog'),
  url: z
    .url({ protocol: /^https?$/ })
    .refine(
      isPlainUrl,
      'expected a URL without user, password, query and fragment; what authenticates is `credential`',
    )
    .describe('Where the catalog answers; a path goes in front of every route.'),
  delimiter: z.string().min(1).max(16).default('$').describe('What joins the parts of an id there.'),
  certificateAuthority: path
    .optional()
    .describe('PEM certificates to trust instead of the system certificates.'),
  credential: credentialSchema.optional().describe('What the gateway authenticates itself with.'),
  maximumConnections: z.int().positive().default(128),
  timeouts: z
    .strictObject({
      connectMs: milliseconds.default(5_000),
      answerMs: milliseconds
        .default(300_000)
        .describe('From the end of the request to the head of the answer.'),
      idleMs: milliseconds.default(60_000).describe('Between two pieces of an answer.'),
    })
    .prefault({}),
})

/** The settings of `catalog-gateway serve`, as they stand in its YAML file. */
const gatewaySchema = z.strictObject({
  listen: z.strictObject({ host: z.string().default('127.0.0.1'), port: port.default(2333) }).prefault({}),
  admin: z.strictObject({ host: z.string().default('127.0.0.1'), port: port.default(2334) }).prefault({}),
  upstream: upstreamSchema,
  identity: z
    .strictObject({
      apiKeys: z
        .strictObject({
          store: path.describe('The file that `keys create` writes.'),
          pepperFile: path.describe(
            'The secret that the hashes in the store are made with, at least 32 bytes.',
          ),
        })
        .optional(),
      issuers: tokenIssuersSchema.default([]).describe('Whose bearer tokens are accepted.'),
    })
    .refine(({ apiKeys, issuers }) => apiKeys !== undefined || issuers.length > 0, {
      message: 'nobody could call: expected apiKeys, or at least one of issuers',
    }),
  policies: z.strictObject({ folder: path }),
  audit: z.strictObject({ folder: path }),
  dialects: z
    .array(z.enum(['lance']))
    .default([])
    .describe('Header names accepted besides those of the interface.'),
  limits: z
    .strictObject({
      jsonBytes: z
        .int()
        .positive()
        .default(4 * 1024 * 1024),
    })
    .prefault({}),
  log: z.strictObject({ level: z.enum(logLevels).default('info') }).prefault({}),
})

/** The settings of a gateway, checked, with every default filled in and every path absolute. */
export type GatewaySettings = z.output<typeof gatewaySchema>

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

/** What goes beyond scheme, host and path would be lost, or a secret that is printed. */
function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password, search, hash } = new URL(text)
  return [username, password, search, hash].every((part) => part === '')
}

/** Paths in a settings file are relative to the file itself. */
function withAbsolutePaths(settings: GatewaySettings, folder: string): GatewaySettings {
  const { upstream, identity } = settings
  const absolute = (path: string): string => resolve(folder, path)
  return {
    ...settings,
    upstream: {
      ...upstream,
      ...(upstream.certificateAuthority !== undefined && {
        certificateAuthority: absolute(upstream.certificateAuthority),
      }),
      ...(upstream.credential?.file !== undefined && {
        credential: { ...upstream.credential, file: absolute(upstream.credential.file) },
      }),
    },
    identity: {
      ...(identity.apiKeys && {
        apiKeys: {
          store: absolute(identity.apiKeys.store),
          pepperFile: absolute(identity.apiKeys.pepperFile),
        },
      }),
      issuers: identity.issuers.map((issuer) => ({
        ...issuer,
        jwks: 'file' in issuer.jwks ? { file: absolute(issuer.jwks.file) } : issuer.jwks,
      })),
    },
    policies: { folder: absolute(settings.policies.folder) },
    audit: { folder: absolute(settings.audit.folder) },
  }
}
