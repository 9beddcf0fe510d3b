import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import {
  findSettingsWarnings,
  formatEffectiveSettings,
  type GatewaySettings,
  listUpstreamFiles,
} from '../config/index.ts'
import { readOnce, readSecret, readServerCertificates, toError } from '../lib/index.ts'
import { directOutbound, openOutbound, type Outbound } from '../outbound/index.ts'
import { readPageTokenSecret, readUpstreamOptions } from '../gateway/index.ts'
import {
  describeUnusableKeys,
  listKeys,
  openAssertionSigner,
  readBootstrapKey,
  readJwksFile,
  readPepper,
  type StoredKey,
} from '../identity/index.ts'
import { readRedactionKey, readSealKey } from '../audit/index.ts'
import { readRedisAccess } from '../limits/index.ts'
import { quoteForMessage } from '../catalog-api/index.ts'
import {
  assertAnyPolicy,
  compilePolicies,
  createSettingsVocabulary,
  listIgnoredFiles,
  loadPolicies,
  namePolicyFolders,
  type PolicySet,
} from '../policy/index.ts'
import { findDevelopmentFiles } from './dev/development-files.ts'
import { probeConnections, checkTlsFiles } from './common/probe-connections.ts'
import { probeUpstreams } from './common/probe-upstreams.ts'
import { readConfig } from './common/arguments.ts'
import { runStep, CommandFailure } from './common/command-failure.ts'
import type { Io } from './common/io.ts'
import { formatExample, newCommand } from './common/new-command.ts'

export function checkCommand(io: Io): Command {
  return newCommand('check', io)
    .description('check settings, policies and keys, and print the effective settings')
    .requiredOption('--config <file>', 'settings file (YAML)')
    .option(
      '--probe',
      'also read from each upstream, with the credential of the gateway, and connect to all other hosts; reports restricted tables whose restrictions do not hold',
    )
    .addHelpText('after', formatExample('catalog-gateway check --config gateway.yaml --probe'))
    .addHelpText(
      'after',
      '\nPolicies in Kubernetes (policies.kubernetes) are not read: their status says whether they are accepted.',
    )
    .action(async ({ config, probe }: { config: string; probe?: true }) => {
      const settings = await readConfig(config, io)
      const { outbound, set } = await checkFiles(settings, io)
      if (probe) {
        await probeUpstreams(settings.upstreams, set, outbound, io)
        await probeConnections(settings, outbound, io)
      }
      await warnOfIgnoredFiles(settings.policies, io)
      for (const entry of outbound.malformedNoProxy)
        io.stderr.write(
          `warning: NO_PROXY: the entry ${quoteForMessage(entry)} is malformed, and matches no host\n`,
        )
      for (const warning of findSettingsWarnings(settings)) io.stderr.write(`warning: ${warning}\n`)
      io.stdout.write(formatEffectiveSettings(settings, io.environment))
    })
}

interface CheckedFiles {
  readonly outbound: Outbound
  /** The policies in force. */
  readonly set: PolicySet
}

/** Reads every file that the settings name; reports all errors, not just the first. */
async function checkFiles(settings: GatewaySettings, io: Io): Promise<CheckedFiles> {
  const { listen, policies, identity, audit, upstreams, listing, limits } = settings
  const failures = [...(await findDevelopmentFiles(settings))]
  const check = async (failure: string, step: () => Promise<unknown>): Promise<void> => {
    await runStep(failure, step).catch((error: unknown) => failures.push(toError(error).message))
  }
  let outbound = directOutbound
  await check('the settings of `outbound` cannot be used', async () => {
    outbound = await openOutbound(settings.outbound, io.environment, readOnce)
  })
  await checkTlsFiles(settings, io.environment, (setting, { message }) =>
    failures.push(`the TLS files of ${setting} cannot be used:\n  ${message}`),
  )
  const { tls } = listen
  if (tls) await check('the certificates of `listen` cannot be used', () => readServerCertificates(tls))
  const vocabulary = createSettingsVocabulary(settings)
  let set = compilePolicies([])
  const folders = policies.folder.join(' and ')
  await check(`the policies in ${folders} cannot be used`, async () => {
    const loaded = await loadPolicies(policies.folder, vocabulary)
    for (const { path, prefix } of namePolicyFolders(policies.folder)) {
      const files = loaded.withShadowPolicies.documents.filter(({ file }) => file.startsWith(prefix))
      assertAnyPolicy(path, files.length)
    }
    assertAnyPolicy(folders, loaded.set.documents.length)
    set = loaded.set
  })
  const { apiKeys, bootstrapKey, introspection, assertion } = identity
  if (introspection) {
    await check('the secret for introspection cannot be used', () =>
      readSecret(introspection.clientSecretFile),
    )
  }
  if (assertion) {
    await check('the keys of assertions cannot be used', () => openAssertionSigner(assertion, Date.now))
  }
  if (apiKeys) {
    let keys: readonly StoredKey[] = []
    await check('the API keys cannot be used', async () => (keys = await listKeys(apiKeys.store)))
    await check('the pepper of the API keys cannot be used', async () => {
      const problem = describeUnusableKeys(await readPepper(apiKeys.pepperFile), keys)
      if (problem !== undefined) throw new Error(problem)
    })
  }
  for (const { name, jwks } of identity.issuers) {
    if (jwks && 'file' in jwks)
      await check(`the keys of the issuer ${name} cannot be used`, () => readJwksFile(jwks.file))
  }
  if (bootstrapKey) await check('the bootstrap key cannot be used', () => readBootstrapKey(bootstrapKey))
  if (listing) {
    await check('the secret of page tokens cannot be used', () => readPageTokenSecret(listing.tokenKeyFile))
  }
  const { sealKeyFile, redaction } = audit
  if (sealKeyFile !== undefined)
    await check('the key of the seals cannot be used', () => readSealKey(sealKeyFile))
  const { keyFile } = redaction
  if (keyFile !== undefined)
    await check('the key of the redaction cannot be used', () => readRedactionKey(keyFile))
  for (const [setting, file] of listReceiverSecrets(settings))
    await check(`the secret of ${setting} cannot be used`, () => readSecret(file))
  const { shared } = limits
  if (shared)
    await check('the files of the shared limits cannot be used', () => readRedisAccess(shared, outbound))
  for (const upstream of upstreams) {
    const unreadable = failures.length
    for (const file of listUpstreamFiles(upstream)) {
      await check(`a file for the upstream ${upstream.name} cannot be read`, () => readFile(file))
    }
    if (failures.length > unreadable) continue
    await check(`the upstream ${upstream.name} cannot be used`, () =>
      readUpstreamOptions(upstream, outbound, readOnce),
    )
  }
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'))
  return { outbound, set }
}

/** Files with secrets for what receives records and traces, with their settings. */
function* listReceiverSecrets({
  audit,
  traces,
}: GatewaySettings): Generator<readonly [setting: string, file: string]> {
  for (const sink of audit.sinks) {
    const setting = `audit.sinks.${sink.name}`
    if (sink.type === 'otlp' && sink.credential) yield [setting, sink.credential.file]
  }
  if (traces?.credential) yield ['traces', traces.credential.file]
}

async function warnOfIgnoredFiles({ folder }: GatewaySettings['policies'], io: Io): Promise<void> {
  for (const { path } of await listIgnoredFiles(folder))
    io.stderr.write(`warning: ${path} is not read; expected the extension .yaml or .yml\n`)
}
