import { resolve } from 'node:path'
import type { z } from 'zod'
import { anyGatewaySchema, listUpstreams, type GatewaySettings } from './gateway-settings.ts'
import { convertValues, describeIssue, SettingsError, toSchemaNode } from '../settings/index.ts'

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
