import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { readGatewaySettings, type GatewaySettings } from '../config.ts'
import { listKeys } from '../identity/api-key-store.ts'
import { readPepper } from '../identity/pepper.ts'
import { loadPolicies } from '../policy/folder.ts'
import { attempt, CommandFailure } from './failure.ts'
import { newCommand } from './new-command.ts'

/** `catalog-gateway check --config FILE`: everything that `serve` would refuse, without serving. */
export function checkCommand(): Command {
  return newCommand('check')
    .description('check settings, policies and keys, and print the settings in force')
    .requiredOption('--config <file>', 'settings in YAML')
    .action(async ({ config }: { config: string }) => {
      const settings = await attempt(`the settings in ${config} cannot be used`, () =>
        readGatewaySettings(config, process.env),
      )
      await checkFiles(settings)
      process.stdout.write(stringify(masked(settings)))
    })
}

/** Reads every file that the settings name; tells of all that cannot be used, not of the first alone. */
async function checkFiles({ policies, identity, upstream }: GatewaySettings): Promise<void> {
  const failures: string[] = []
  const keep = async (what: string, step: () => Promise<unknown>): Promise<void> => {
    await attempt(what, step).catch((error: unknown) => failures.push((error as Error).message))
  }
  await keep('the policies cannot be used', () => loadPolicies(policies.folder))
  const { apiKeys } = identity
  if (apiKeys) {
    await keep('the API keys cannot be used', () => listKeys(apiKeys.store))
    await keep('the pepper of the API keys cannot be used', () => readPepper(apiKeys.pepperFile))
  }
  const { certificateAuthority, credential } = upstream
  if (certificateAuthority !== undefined) {
    await keep('the certificate authority of the upstream cannot be read', () =>
      readFile(certificateAuthority),
    )
  }
  const file = credential?.file
  if (file !== undefined) await keep('the credential for the upstream cannot be read', () => readFile(file))
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'))
}

function masked(settings: GatewaySettings): GatewaySettings {
  const { credential } = settings.upstream
  if (credential?.value === undefined) return settings
  return { ...settings, upstream: { ...settings.upstream, credential: { ...credential, value: '(hidden)' } } }
}
