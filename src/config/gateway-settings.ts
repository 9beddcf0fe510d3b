import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Document, isNode, isScalar } from 'yaml'
import type { z } from 'zod'
import {
  convertValues,
  describeIssue,
  ifValid,
  listSettingVariables,
  mapSettings,
  readSettings,
  refuse,
  SettingsError,
  toSchemaNode,
} from '../settings/index.ts'
import {
  findClientStatementProblems,
  findListenConflicts,
  findPassThroughProblems,
} from './listener-problems.ts'
import { type Sections, sectionsSchema } from './sections.ts'
import {
  findCallerIdentityProblems,
  findImpossibleNamespaces,
  findUnknownDelegatedNames,
  findUnsafeSettings,
} from './settings-problems.ts'
import { redactedValue, type UpstreamSettings } from './upstream/upstream-settings.ts'

/** Of a gateway with a server of its own, or in the server of an application. */
const anyGatewaySchema = sectionsSchema
  .refine(({ upstream, upstreams }) => (upstream === undefined) !== (upstreams === undefined), {
    path: ['upstream'],
    message: 'expected either upstream or upstreams',
  })
  .superRefine(refuse(findCallerIdentityProblems))
  .superRefine(refuse(findListenConflicts))
  .superRefine(refuse(findPassThroughProblems))
  .superRefine(refuse(findUnknownDelegatedNames), ifValid)
  .superRefine(refuse(findImpossibleNamespaces), ifValid)
  .superRefine(refuse(findUnsafeSettings))

/** Of a gateway with a server of its own. */
export const gatewaySettingsSchema = anyGatewaySchema.superRefine(refuse(findClientStatementProblems))

/** Effective settings of a gateway: defaults filled in, paths absolute. */
export type GatewaySettings = Omit<Sections, 'upstream' | 'upstreams'> & {
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

/** Fills in the defaults of settings with absolute paths. Throws Error if they contradict each other. */
export function parseGatewaySettings(settings: z.input<typeof gatewaySettingsSchema>): GatewaySettings {
  const { data, error } = gatewaySettingsSchema.safeParse(settings)
  if (error) throw new Error(error.issues.map(({ message }) => message).join('\n'))
  return listUpstreams(data)
}

/** The settings as the gateway uses them: one upstream is a list of one. */
function listUpstreams({
  upstream,
  upstreams = upstream ? [upstream] : [],
  ...settings
}: Sections): GatewaySettings {
  return { ...settings, upstreams }
}

/**
 * Formats the effective settings as YAML with the same meaning for `serve`: all defaults filled in, comments on values
 * from the environment, and secrets replaced by a value that `serve` refuses.
 */
export function formatEffectiveSettings(settings: GatewaySettings, environment: NodeJS.ProcessEnv): string {
  const schema = toSchemaNode(gatewaySettingsSchema)
  const redacted = mapSettings(schema, toFileForm(settings), (value, nodes) =>
    nodes.some(({ secret }) => secret === true) ? redactedValue : value,
  )
  const document = new Document(redacted)
  for (const { name, path } of listSettingVariables(schema).values()) {
    if (environment[name] === undefined) continue
    const node = document.getIn(path, true)
    if (isScalar(node)) node.comment = ` ${name}`
    else if (isNode(node)) node.commentBefore = ` ${name}`
  }
  return document.toString()
}

/** A single upstream without namespaces is written as `upstream`, others as `upstreams`. */
function toFileForm({ upstreams, ...settings }: GatewaySettings): object {
  const [only] = upstreams
  return only === undefined || upstreams.length > 1
    ? { ...settings, upstreams }
    : { ...settings, upstream: only }
}

/** Sections about ports, which an embedding application has itself. */
const ownedByApplication = ['listen', 'admin', 'passThrough'] as const

type FileSettings = z.input<typeof anyGatewaySchema>

/**
 * Settings of a gateway in another application's server: those of the settings file without `listen`, `admin` and
 * `passThrough`, and without `identity` if the application authenticates.
 */
export type EmbeddedSettings = Omit<FileSettings, (typeof ownedByApplication)[number] | 'identity'> &
  Partial<Pick<FileSettings, 'identity'>>

export interface EmbeddedAccess {
  /** Path of the gateway in the application; empty if it is the root. */
  readonly prefix: string
  /** Folder of relative paths. */
  readonly folder: string
  /** Whether the application authenticates. */
  readonly isAuthenticated: boolean
}

/** Checks settings, and fills in defaults. Throws SettingsError with all errors at once. */
export function readEmbeddedSettings(
  settings: EmbeddedSettings,
  { prefix, folder, isAuthenticated }: EmbeddedAccess,
): GatewaySettings {
  const refused = [...ownedByApplication, ...(isAuthenticated ? (['identity'] as const) : [])]
    .filter((name) => Object.hasOwn(settings, name))
    .map((name) =>
      name === 'identity'
        ? 'identity: unexpected beside authenticate: the application authenticates'
        : `${name}: unexpected: the application has its own`,
    )
  const node = toSchemaNode(anyGatewaySchema)
  const sent = {
    ...settings,
    ...(prefix !== '' && { listen: { basePath: prefix } }),
    // Not used: the schema requires a way to authenticate.
    ...(isAuthenticated && { identity: { anonymous: true } }),
  }
  const result = anyGatewaySchema.safeParse(convertValues(node, sent, resolve(folder)))
  const invalid = (result.error?.issues ?? [])
    .flatMap((issue) => describeIssue(issue, node, settings))
    .map(({ path, message }) => `${path.join('.') || 'settings'}: ${message}`)
  if (refused.length > 0 || !result.success) throw new SettingsError([...refused, ...invalid].join('\n'))
  const complete = listUpstreams(result.data)
  // The application authenticates; a caller that it does not know is refused.
  return isAuthenticated ? { ...complete, identity: { issuers: [] } } : complete
}
