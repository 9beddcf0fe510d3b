import { readFile } from 'node:fs/promises'
import type { z } from 'zod'
import { ifValid, readSettings, refuse } from '../settings/index.ts'
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
import type { UpstreamSettings } from './upstream/upstream-settings.ts'

/** Of a gateway with a server of its own, or in the server of an application. */
export const anyGatewaySchema = sectionsSchema
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
export function listUpstreams({
  upstream,
  upstreams = upstream ? [upstream] : [],
  ...settings
}: Sections): GatewaySettings {
  return { ...settings, upstreams }
}
