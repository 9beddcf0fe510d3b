import { join } from 'node:path'
import type { GatewaySettings } from '../../config/gateway-settings.ts'
import type { PolicySettings } from '../../config/policy-settings.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { createEmergencyLocation, toEmergencyDocuments } from '../../policy/source/emergency-policies.ts'
import { compileContents, readPolicies } from '../../policy/source/load-policies.ts'
import { openPolicyLocation } from '../../policy/source/open-policy-location.ts'
import { createFolderLocation, type PolicyLocation } from '../../policy/source/policy-location.ts'
import { createSettingsVocabulary } from '../../policy/source/settings-vocabulary.ts'
import { runStep } from '../common/command-failure.ts'
import { anySettings } from '../policy/policy-context.ts'

/** Returns where a recorded rule is now, in words; `revision` is that of the policies of the decision. */
export type LocateRule = (rule: RuleReference, revision: string | undefined) => string

interface RuleSource {
  readonly documents: readonly PolicyDocument[]
  /** Path of a file of the source, from the name in its documents. */
  readonly formatPath: (file: string) => string
}

/**
 * Reads the policies of the folder if one is given, otherwise those of the settings except for resources of Kubernetes.
 * Returns undefined without both.
 */
export async function openRuleLocator(
  folder: string | undefined,
  settings: GatewaySettings | undefined,
): Promise<LocateRule | undefined> {
  const vocabulary = settings === undefined ? anySettings : createSettingsVocabulary(settings)
  const sources =
    folder === undefined
      ? settings && (await readConfigured(settings.policies, vocabulary))
      : [await readSource(createFolderLocation(folder), vocabulary, (file) => join(folder, file))]
  if (sources === undefined) return undefined
  const revision = compileContents({ documents: sources.flatMap(({ documents }) => documents), tests: [] })
    .set.revision
  return (rule, recorded) => {
    for (const { documents, formatPath } of sources) {
      const document = documents.find(({ name }) => name === rule.policy)
      const found = document?.rules.find(({ id }) => id === rule.rule)
      if (document === undefined || found === undefined) continue
      const note = recorded === revision ? '' : '; these policies are of another revision'
      return `${formatPath(document.file)}:${found.line}${note}`
    }
    return 'not in these policies: it was removed or renamed, or belongs to others'
  }
}

async function readConfigured(
  policies: PolicySettings,
  vocabulary: PolicyVocabulary,
): Promise<readonly RuleSource[]> {
  const { folder, emergencyFolder } = policies
  const location = await runStep('the policies cannot be used', () => openPolicyLocation(policies))
  const main = await readSource(location, vocabulary, (file) =>
    folder === undefined ? `${file} in ${location.name}` : join(folder, file),
  )
  if (emergencyFolder === undefined) return [main]
  const emergency = await readSource(
    createEmergencyLocation(emergencyFolder),
    vocabulary,
    (file) => join(emergencyFolder, file.slice(file.indexOf(':') + 1)),
    toEmergencyDocuments,
  )
  return [main, emergency]
}

function readSource(
  location: PolicyLocation,
  vocabulary: PolicyVocabulary,
  formatPath: RuleSource['formatPath'],
  adapt?: typeof toEmergencyDocuments,
): Promise<RuleSource> {
  return runStep(`the policies in ${location.name} cannot be used`, async () => {
    const { documents } = await readPolicies(location, vocabulary, adapt)
    return { documents, formatPath }
  })
}
