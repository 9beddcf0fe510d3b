import { join } from 'node:path'
import type { GatewaySettings } from '../../config/gateway-settings.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import { compileContents, readPolicies } from '../../policy/source/load-policies.ts'
import { namePolicyFolders } from '../../policy/source/policy-folder.ts'
import { createSettingsVocabulary } from '../../policy/source/settings-vocabulary.ts'
import { runStep } from '../common/command-failure.ts'
import { anySettings } from '../policy/policy-sources.ts'

/** Returns where a recorded rule is now, in words; `revision` is that of the policies of the decision. */
export type LocateRule = (rule: RuleReference, revision: string | undefined) => string

/**
 * Reads the policies of the folders if some are given, otherwise those of the settings except for resources of Kubernetes.
 * Returns undefined without both.
 */
export async function openRuleLocator(
  given: readonly string[],
  settings: GatewaySettings | undefined,
): Promise<LocateRule | undefined> {
  const vocabulary = settings === undefined ? anySettings : createSettingsVocabulary(settings)
  const paths = given.length === 0 ? settings?.policies.folder : given
  if (paths === undefined) return undefined
  const folders = namePolicyFolders(paths)
  const contents = await runStep(`the policies in ${paths.join(' and ')} cannot be used`, () =>
    readPolicies(paths, vocabulary),
  )
  const { revision } = compileContents(contents).set
  return (rule, recorded) => {
    const document = contents.documents.find(({ name }) => name === rule.policy)
    const found = document?.rules.find(({ id }) => id === rule.rule)
    const folder = folders.find(({ prefix }) => document?.file.startsWith(prefix))
    if (document === undefined || found === undefined || folder === undefined)
      return 'not in these policies: it was removed or renamed, or belongs to others'
    const note = recorded === revision ? '' : '; these policies are of another revision'
    return `${join(folder.path, document.file.slice(folder.prefix.length))}:${found.line}${note}`
  }
}
