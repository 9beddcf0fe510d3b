import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { readGatewaySettings, type GatewaySettings } from '../config/gateway-settings.ts'
import { formatEffectiveSettings } from '../config/effective-settings.ts'
import { toError } from '../lib/errors/to-error.ts'
import { readServerCertificates } from '../lib/tls/server-certificates.ts'
import { readPageTokenSecret } from '../gateway/listing/page-tokens.ts'
import { readUpstreamOptions } from '../gateway/upstream/upstream-files.ts'
import { listUpstreamFiles } from '../config/upstream/upstream-settings.ts'
import { listKeys } from '../identity/api-keys/key-store.ts'
import { openAssertionSigner } from '../identity/assertion/assertions.ts'
import { readBootstrapKey } from '../identity/api-keys/bootstrap-key.ts'
import { readPepper } from '../identity/api-keys/pepper.ts'
import { readRedisAccess } from '../limits/shared/redis-access.ts'
import { createExtraOperations } from '../catalog-api/extra-operation.ts'
import { createPolicyVocabulary, type PolicyVocabulary } from '../policy/language/policy-vocabulary.ts'
import { mergeFiles } from '../policy/source/compile-documents.ts'
import { createEmergencyLocation, toEmergencyDocuments } from '../policy/source/emergency-policies.ts'
import { readLastGoodKey } from '../policy/source/last-good/last-good-key.ts'
import { assertAnyPolicy, loadPoliciesFrom } from '../policy/source/load-policies.ts'
import { createFolderLocation, type PolicyLocation } from '../policy/source/policy-location.ts'
import { parsePolicyFile } from '../policy/source/parse-policy-file.ts'
import { openPolicyLocation } from '../policy/source/open-policy-location.ts'
import { findDevelopmentFiles } from './dev/development-files.ts'
import { probeUpstreams } from './common/probe-upstreams.ts'
import { runStep, CommandFailure } from './common/command-failure.ts'
import { newCommand } from './common/new-command.ts'

export function checkCommand(): Command {
  return newCommand('check')
    .description('check settings, policies and keys, and print the effective settings')
    .requiredOption('--config <file>', 'settings file (YAML)')
    .option('--probe', 'also read from each upstream, with the credential of the gateway')
    .addHelpText(
      'after',
      '\nPolicies in Kubernetes (policies.kubernetes) are not read: their status says whether they are accepted.',
    )
    .action(async ({ config, probe }: { config: string; probe?: true }) => {
      const settings = await runStep(`the settings in ${config} cannot be used`, () =>
        readGatewaySettings(config, process.env),
      )
      await checkFiles(settings)
      if (probe) await probeUpstreams(settings.upstreams)
      process.stdout.write(formatEffectiveSettings(settings, process.env))
    })
}

/** Reads every file that the settings name; reports all errors, not just the first. */
async function checkFiles(settings: GatewaySettings): Promise<void> {
  const { listen, policies, identity, upstreams, listing, limits } = settings
  const failures = [...(await findDevelopmentFiles(settings))]
  const check = async (failure: string, step: () => Promise<unknown>): Promise<void> => {
    await runStep(failure, step).catch((error: unknown) => failures.push(toError(error).message))
  }
  const vocabulary = createPolicyVocabulary(createExtraOperations(upstreams))
  const { tls } = listen
  if (tls) await check('the certificates of `listen` cannot be used', () => readServerCertificates(tls))
  const webhook = policies.kubernetes?.webhook
  if (webhook)
    await check('the certificates of `policies.kubernetes.webhook` cannot be used', () =>
      readServerCertificates({ ...webhook, clientAuth: 'required' }),
    )
  await check('the policies cannot be used', async () =>
    checkPolicies(await openPolicyLocation(policies), vocabulary),
  )
  const { candidateFolder, emergencyFolder, lastGood } = policies
  if (candidateFolder !== undefined)
    await check('the candidate policies cannot be used', () =>
      checkPolicies(createFolderLocation(candidateFolder), vocabulary),
    )
  if (emergencyFolder !== undefined)
    await check('the emergency policies cannot be used', () =>
      checkEmergencyPolicies(createEmergencyLocation(emergencyFolder), vocabulary),
    )
  if (lastGood) await check('the last good policies cannot be stored', () => readLastGoodKey(lastGood))
  const { apiKeys, bootstrapKey, introspection, assertion } = identity
  if (introspection) {
    await check('the secret for introspection cannot be read', () => readFile(introspection.clientSecretFile))
  }
  if (assertion) {
    await check('the keys of assertions cannot be used', () => openAssertionSigner(assertion, Date.now))
  }
  if (apiKeys) {
    await check('the API keys cannot be used', () => listKeys(apiKeys.store))
    await check('the pepper of the API keys cannot be used', () => readPepper(apiKeys.pepperFile))
  }
  if (bootstrapKey) await check('the bootstrap key cannot be used', () => readBootstrapKey(bootstrapKey))
  if (listing) {
    await check('the secret of page tokens cannot be used', () => readPageTokenSecret(listing.tokenKeyFile))
  }
  const { shared } = limits
  if (shared) await check('the files of the shared limits cannot be used', () => readRedisAccess(shared))
  for (const upstream of upstreams) {
    const unreadable = failures.length
    for (const file of listUpstreamFiles(upstream)) {
      await check(`a file for the upstream ${upstream.name} cannot be read`, () => readFile(file))
    }
    if (failures.length > unreadable) continue
    await check(`the upstream ${upstream.name} cannot be used`, () => readUpstreamOptions(upstream))
  }
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'))
}

async function checkPolicies(location: PolicyLocation, vocabulary: PolicyVocabulary): Promise<void> {
  assertAnyPolicy(location.name, (await loadPoliciesFrom(location, vocabulary)).size)
}

async function checkEmergencyPolicies(location: PolicyLocation, vocabulary: PolicyVocabulary): Promise<void> {
  const { files } = await location.read()
  toEmergencyDocuments(mergeFiles(files.map((file) => parsePolicyFile(file, vocabulary))))
}
