import { readGatewaySettings, type GatewaySettings } from '../../config/gateway-settings.ts'
import type { PolicyNamespace } from '../../config/policy-kubernetes-settings.ts'
import { createPolicyVocabulary, type PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { createSettingsVocabulary } from '../../policy/source/settings-vocabulary.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'

export const configOption = [
  '--config <file>',
  'the settings of the gateway: its policy folders, extra operations that policies name, Kubernetes namespaces that count',
] as const

/** What the settings of a gateway say about its policies. */
export interface PolicyContext {
  /** The operations that policies may name: those of the catalog API, and extra ones of the settings. */
  readonly vocabulary: PolicyVocabulary
  /** The Kubernetes namespaces whose resources count; undefined without settings: all, as those of the platform. */
  readonly namespaces: readonly PolicyNamespace[] | undefined
  readonly settings: GatewaySettings | undefined
}

/** The vocabulary without settings: the policies may be those of `dev`. */
export const anySettings = createPolicyVocabulary({ acceptsDevelopment: true })

interface ContextOptions {
  readonly config?: string | undefined
  readonly kubernetes?: true
}

/**
 * Reads the settings in `config`. Throws CommandFailure with all errors in them, and if they use no resources although
 * the command does.
 */
export async function readPolicyContext(
  { config, kubernetes }: ContextOptions,
  { environment }: Io,
): Promise<PolicyContext> {
  if (config === undefined) return { vocabulary: anySettings, namespaces: undefined, settings: undefined }
  const settings = await runStep(`the settings in ${config} cannot be used`, () =>
    readGatewaySettings(config, environment),
  )
  const namespaces = settings.policies.kubernetes?.namespaces
  if (kubernetes && namespaces === undefined) {
    throw new CommandFailure(
      `the settings in ${config} contain no policies.kubernetes, so their gateway uses no resources; omit --kubernetes`,
    )
  }
  return { vocabulary: createSettingsVocabulary(settings), namespaces, settings }
}
