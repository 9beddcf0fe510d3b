import { readFile } from 'node:fs/promises'
import type { GatewaySettings } from '../../config/gateway-settings.ts'
import { listIssuerNames } from '../../config/identity/identity-settings.ts'
import { readUsableKeys } from '../../identity/api-keys/read-key-files.ts'
import { unknownSettings, type KnownSettings } from '../../policy/analysis/lint/known-settings.ts'
import { runStep } from '../common/command-failure.ts'

/**
 * Reads what lint knows: from the settings, the API keys, and a file of groups, one a line. Throws CommandFailure if a file
 * cannot be read.
 */
export async function readKnownSettings(
  settings: GatewaySettings | undefined,
  groupsFile: string | undefined,
): Promise<KnownSettings> {
  const groups = groupsFile === undefined ? undefined : await readGroups(groupsFile)
  if (settings === undefined) return { ...unknownSettings, groups }
  const { identity, audit } = settings
  return {
    issuers: listIssuerNames(identity),
    keys: await readKeys(identity),
    groups,
    recordedContextKeys: audit.redaction.recordedContextKeys,
  }
}

async function readGroups(file: string): Promise<ReadonlySet<string>> {
  const text = await runStep(`the groups in ${file} cannot be read`, () => readFile(file, 'utf8'))
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  return new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))
}

async function readKeys({
  apiKeys,
  bootstrapKey,
}: GatewaySettings['identity']): Promise<NonNullable<KnownSettings['keys']>> {
  const stored =
    apiKeys === undefined
      ? []
      : (
          await runStep(`the API keys in ${apiKeys.store} cannot be read`, () =>
            readUsableKeys(apiKeys.store),
          )
        ).keys
  const keys = bootstrapKey === undefined ? stored : [...stored, bootstrapKey]
  return {
    principals: new Set(keys.map(({ principal }) => principal)),
    groups: new Set(keys.flatMap(({ groups }) => groups)),
  }
}
