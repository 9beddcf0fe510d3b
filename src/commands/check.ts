import { createServer } from 'node:net'
import type { Command } from 'commander'
import {
  findSettingsWarnings,
  formatEffectiveSettings,
  type GatewaySettings,
  listServers,
} from '../config/index.ts'
import {
  hasErrorCode,
  listenOn,
  readKey,
  readOnce,
  readSecret,
  readServerCertificates,
  readTlsFiles,
  type TlsFiles,
  toError,
} from '../lib/index.ts'
import { directOutbound, openOutbound } from '../outbound/index.ts'
import { readUpstreamOptions } from '../gateway/index.ts'
import {
  describeUnusableKeys,
  listKeys,
  openAssertionSigner,
  readBootstrapKey,
  readJwksFile,
  readPepper,
  type StoredKey,
} from '../identity/index.ts'
import { checkAuditFolder, readSealKey } from '../audit/index.ts'
import { readRedisAccess } from '../limits/index.ts'
import { quoteForMessage } from '../catalog-api/index.ts'
import {
  assertAnyPolicy,
  createSettingsVocabulary,
  type Finding,
  lintWithShadowPolicies,
  listIgnoredFiles,
  type LoadedPolicies,
  loadPolicies,
  namePolicyFolders,
} from '../policy/index.ts'
import { findDevelopmentFiles } from './dev/dev.ts'
import { probeUpstreams } from './common/probe-upstreams.ts'
import { readConfig } from './common/arguments.ts'
import { runStep, CommandFailure } from './common/command-failure.ts'
import type { Io } from './common/io.ts'
import { formatExample, newCommand } from './common/new-command.ts'
import { countFindings, listKnownCredentials } from './policy/policy-lint.ts'

export function checkCommand(io: Io): Command {
  return newCommand('check', io)
    .description(
      'check settings, policies, keys, ports and the audit folder, and print the effective settings',
    )
    .requiredOption('--config <file>', 'settings file (YAML)')
    .option(
      '--probe',
      'also read from each upstream, with the credential of the gateway, and try the columns that `rows` names',
    )
    .addHelpText('after', formatExample('catalog-gateway check --config gateway.yaml --probe'))
    .addHelpText(
      'after',
      '\nA port or an audit folder that is in use is a warning: the running gateway may be what uses it.' +
        '\nPolicies in Kubernetes (policies.kubernetes) are not read: their status says whether they are accepted.',
    )
    .action(async ({ config, probe }: { config: string; probe?: true }) => {
      const settings = await readConfig(config, io)
      const { outbound, loaded, keys, used } = await checkResources(settings, io)
      if (probe) await probeUpstreams(settings.upstreams, loaded.set, outbound, io)
      const ignored = await listIgnoredFiles(settings.policies.folder)
      const warnings = [
        ...ignored.map((name) => `the policies have ${name}, which is not read; expected .yaml or .yml`),
        ...outbound.malformedNoProxy.map(
          (entry) => `NO_PROXY: the entry ${quoteForMessage(entry)} is malformed, and matches no host`,
        ),
        ...findSettingsWarnings(settings),
        ...listPolicyWarnings(lintWithShadowPolicies(loaded, listKnownCredentials(settings, keys)), config),
        ...used,
      ]
      for (const warning of warnings) io.stderr.write(`warning: ${warning}\n`)
      io.stdout.write(formatEffectiveSettings(settings, io.environment))
    })
}

function listPolicyWarnings(findings: readonly Finding[], config: string): readonly string[] {
  const { errors, warnings, text } = countFindings(findings)
  if (errors + warnings === 0) return []
  return [`the policies have findings (${text}); see catalog-gateway policy lint --config ${config}`]
}

/**
 * Reads every file that the settings name, and tries their ports and the audit folder; reports all errors, not just the
 * first. Returns the policies, and sentences about ports and an audit folder in use, as by the running gateway.
 */
async function checkResources(settings: GatewaySettings, io: Io) {
  const { listen, policies, identity, audit, upstreams, listing, limits, traces } = settings
  const failures = [...(await findDevelopmentFiles(settings))]
  const check = async (failure: string, step: () => Promise<unknown>): Promise<void> => {
    await runStep(failure, step).catch((error: unknown) => failures.push(toError(error).message))
  }
  const use = async <Setting>(
    what: string,
    setting: Setting | undefined,
    step: (setting: Setting) => Promise<unknown>,
  ): Promise<void> => {
    if (setting !== undefined) await check(`${what} cannot be used`, () => step(setting))
  }
  let outbound = directOutbound
  await check('the settings of `outbound` cannot be used', async () => {
    outbound = await openOutbound(settings.outbound, io.environment, readOnce)
  })
  const { apiKeys, bootstrapKey, introspection, assertion, issuers } = identity
  const receivers = audit.sinks.flatMap((sink) => (sink.type === 'otlp' ? [sink] : []))
  const clients: readonly (readonly [setting: string, files: TlsFiles | undefined])[] = [
    ...issuers.map((issuer) => [`identity.issuers.${issuer.name}`, issuer] as const),
    ['identity.introspection', introspection],
    ...receivers.map((sink) => [`audit.sinks.${sink.name}`, sink] as const),
    ['traces', traces],
    ['limits.shared', limits.shared?.tls],
  ]
  for (const [setting, tls] of clients)
    await use(`the TLS files of ${setting}`, tls, (files) => readTlsFiles(files, `of ${setting}`))
  await use('the certificates of `listen`', listen.tls, readServerCertificates)
  const vocabulary = createSettingsVocabulary(settings)
  let loaded: LoadedPolicies | undefined
  const folders = policies.folder.join(' and ')
  await check(`the policies in ${folders} cannot be used`, async () => {
    loaded = await loadPolicies(policies.folder, vocabulary)
    for (const { path, prefix } of namePolicyFolders(policies.folder)) {
      const files = loaded.withShadowPolicies.documents.filter(({ file }) => file.startsWith(prefix))
      assertAnyPolicy(path, files.length)
    }
    assertAnyPolicy(folders, loaded.set.documents.length)
  })
  await use('the secret for introspection', introspection?.clientSecretFile, readSecret)
  await use('the keys of assertions', assertion, (keys) => openAssertionSigner(keys, Date.now))
  let keys: readonly StoredKey[] = []
  await use('the API keys', apiKeys?.store, async (store) => (keys = await listKeys(store)))
  await use('the pepper of the API keys', apiKeys?.pepperFile, async (file) => {
    const problem = describeUnusableKeys(await readPepper(file), keys)
    if (problem !== undefined) throw new Error(problem)
  })
  for (const { name, jwks } of issuers)
    await use(`the keys of the issuer ${name}`, 'file' in jwks ? jwks.file : undefined, readJwksFile)
  await use('the bootstrap key', bootstrapKey, readBootstrapKey)
  await use('the secret of page tokens', listing?.tokenKeyFile, readKey)
  await use('the key of the seals', audit.sealKeyFile, readSealKey)
  await use('the key of the redaction', audit.redaction.keyFile, readKey)
  for (const { name, credential } of receivers)
    await use(`the secret of audit.sinks.${name}`, credential?.file, readSecret)
  await use('the secret of traces', traces?.credential?.file, readSecret)
  await use('the files of the shared limits', limits.shared, (shared) => readRedisAccess(shared, outbound))
  for (const upstream of upstreams) {
    await check(`the upstream ${upstream.name} cannot be used`, () => readUpstreamOptions(upstream, outbound))
  }
  const used: string[] = []
  const tryUse = async (what: string, step: () => Promise<unknown>): Promise<void> => {
    await step().catch(async (error: unknown) => {
      if (!hasErrorCode(error, 'EADDRINUSE', 'ELOCKED'))
        return check(`${what} cannot be used`, () => Promise.reject(error))
      used.push(`${what} is in use, and \`serve\` fails until it is free: ${toError(error).message}`)
    })
  }
  for (const { path, address } of listServers(settings))
    await tryUse(`the address of ${path.join('.')}`, () => tryListen(address))
  await tryUse('audit.folder', () => checkAuditFolder(audit.folder))
  if (failures.length > 0 || loaded === undefined) throw new CommandFailure(failures.join('\n'))
  return { outbound, loaded, keys, used }
}

async function tryListen({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  const server = createServer()
  await listenOn(server, { host, port })
  server.close()
}
