import { randomBytes } from 'node:crypto'
import { access, readFile, realpath, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { acceptanceHint, type GatewaySettings, parseGatewaySettings } from '../../config/index.ts'
import { readOrCreatePepper } from '../../identity/index.ts'
import { hasErrorCode, makeFolder, quoteForShell } from '../../lib/index.ts'
import { startBundledCatalog, type BundledCatalog } from './bundled-catalog.ts'
import { runStep } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { formatExample, newCommand } from '../common/new-command.ts'
import { ignoreOtherSignals, runUntilStopped } from '../common/run-until-stopped.ts'
import { startGateway } from '../../gateway/index.ts'

interface DevOptions {
  readonly port: number
  readonly adminPort: number
  readonly dataDir: string
  readonly apiKey?: string
  readonly policies: string
}

export const devFiles = {
  key: 'development-key',
  store: 'keys.yaml',
  pepper: 'pepper',
  audit: 'audit',
} as const

/** Policies of `dev`, which allow everything to the principal of its key. */
const developmentPolicies = fileURLToPath(new URL('../../../policies/development', import.meta.url))

export function devCommand(io: Io): Command {
  return newCommand('dev', io)
    .description('run a gateway with the bundled catalog on this machine')
    .option('--port <number>', 'port of the gateway; 0 picks a free port', parsePort, 2333)
    .option('--admin-port <number>', 'port for health and metrics; 0 picks a free port', parsePort, 2334)
    .option('--data-dir <dir>', 'folder for data, keys and the audit log', '.catalog-gateway')
    .option('--api-key <key>', 'the development key (principal "dev"); generated and stored if not given')
    .addOption(
      new Option('--policies <dir>', 'a folder of policies').default(
        developmentPolicies,
        'one that allows the development key everything',
      ),
    )
    .addHelpText('after', formatExample('catalog-gateway dev --policies my-policies --data-dir my-data'))
    .action((options: DevOptions) => runDev(options, io))
}

async function runDev(options: DevOptions, io: Io): Promise<void> {
  ignoreOtherSignals()
  const folder = resolve(options.dataDir)
  await runStep('the data folder cannot be used', () => makeFolder(folder))
  const key = options.apiKey ?? (await loadOrCreateKey(join(folder, devFiles.key)))
  const catalog = await runStep('the bundled catalog cannot start', () =>
    startBundledCatalog(join(folder, 'catalog')),
  )
  try {
    await readOrCreatePepper(join(folder, devFiles.pepper), join(folder, devFiles.store))
    await createKeyStore(join(folder, devFiles.store))
    const gateway = await runStep('the gateway cannot start', () =>
      startGateway({
        settings: buildDevSettings(folder, options, catalog),
        staticKey: { text: key, principal: 'dev', groups: ['developers'] },
      }),
    )
    try {
      const announcement = formatWelcome(gateway.url, gateway.adminUrl, key, options.dataDir)
      await Promise.race([runUntilStopped(io, { ...gateway, announcement }), catalog.ended])
    } finally {
      await gateway.close()
    }
  } finally {
    await catalog.stop()
  }
}

function buildDevSettings(folder: string, options: DevOptions, catalog: BundledCatalog): GatewaySettings {
  return parseGatewaySettings({
    listen: { port: options.port },
    admin: { port: options.adminPort, console: true },
    upstream: { url: catalog.url, credential: { value: catalog.authorization } },
    databases: 'namespaces',
    identity: {
      apiKeys: { store: join(folder, devFiles.store), pepperFile: join(folder, devFiles.pepper) },
    },
    policies: { folder: resolve(options.policies) },
    // `policy replay` and the playground decide recorded calls, for which they need reads and groups.
    audit: { folder: join(folder, devFiles.audit), reads: true, redaction: { maxRecordedGroups: 20 } },
    dialects: ['lance'],
    outbound: { proxy: { noProxy: ['*'] } },
    unsafe: ['development-policies'],
  })
}

/** Reuses the key of the previous run, so that pasted commands still work; creates one the first time. */
async function loadOrCreateKey(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch {
    const key = `dev-${randomBytes(18).toString('base64url')}`
    await writeFile(file, `${key}\n`, { mode: 0o600 })
    return key
  }
}

/** An empty store, so that `keys create` can add keys while the gateway runs. */
async function createKeyStore(file: string): Promise<void> {
  await writeFile(file, 'keys: []\n', { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
    if (!hasErrorCode(error, 'EEXIST')) throw error
  })
}

function formatWelcome(url: string, adminUrl: string, key: string, dataDir: string): string {
  const auditDir = join(dataDir, devFiles.audit)
  return `listening on ${url}
admin on ${adminUrl}
console on ${adminUrl}/console
API documentation on ${url}/docs

catalog-gateway runs in front of the bundled catalog. The key below is allowed everything.

  export KEY=${quoteForShell(key)}
  # create a namespace and list namespaces and tables
  curl -H "x-api-key: $KEY" -X POST -H 'content-type: application/json' -d '{}' '${url}/v1/namespace/sales/create'
  curl -H "x-api-key: $KEY" '${url}/v1/namespace/$/list'
  # without a key: 401
  curl '${url}/v1/namespace/$/list'
  # health and metrics
  curl ${adminUrl}/readyz
  curl ${adminUrl}/metrics
  # verify the audit log
  ${programInvocation()} audit verify ${quoteForShell(auditDir)}

Press Ctrl-C to stop; the data stays in ${dataDir}.
`
}

/** Returns the command line that runs this program again from the current folder. */
function programInvocation(): string {
  const [, program = 'catalog-gateway'] = process.argv
  const near = relative(process.cwd(), program)
  return `node ${quoteForShell(near.startsWith('..') ? program : near)}`
}

function parsePort(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > 65_535)
    throw new InvalidArgumentError('expected a number from 0 to 65535')
  return value
}

/** Describes the files of `dev` that the settings name and do not accept. */
export async function findDevelopmentFiles({
  identity,
  upstreams,
  unsafe,
}: GatewaySettings): Promise<readonly string[]> {
  const secrets = [
    { setting: 'identity.apiKeys.store', file: identity.apiKeys?.store },
    { setting: 'identity.apiKeys.pepperFile', file: identity.apiKeys?.pepperFile },
    { setting: 'identity.bootstrapKey.file', file: identity.bootstrapKey?.file },
    ...upstreams.map(({ name, credential }) => ({
      setting: `the credential of ${name}`,
      file: credential?.file,
    })),
  ]
  if (unsafe.includes('development-key')) return []
  const found: string[] = []
  for (const { setting, file } of secrets) {
    if (file === undefined || !(await isDevelopmentFile(file))) continue
    const expected = `expected separate files, ${acceptanceHint('development-key')}`
    found.push(`${setting} is in the data folder of \`dev\`, next to its key; ${expected}`)
  }
  return found
}

/** Follows symbolic links. A missing file is none: reading it reports the error. */
async function isDevelopmentFile(file: string): Promise<boolean> {
  const path = await realpath(file).catch(() => file)
  return access(join(dirname(path), devFiles.key)).then(
    () => true,
    () => false,
  )
}
