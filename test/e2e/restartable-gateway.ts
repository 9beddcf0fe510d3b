import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { readGatewaySettings } from '../../src/config/gateway-settings.ts'
import { startGateway } from '../../src/gateway/bootstrap/start-gateway.ts'
import { createKey, type CreatedKey } from '../../src/identity/api-keys/key-store.ts'
import { startRecordingUpstream } from '../gateway/support/recording-upstream.ts'
import { formatPolicies, type WrittenPolicy } from '../policy/policy-builder.ts'
import { writeFiles } from '../policy/source/policy-folder.ts'
import { startProgram, type Program } from './built-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

/** A gateway that keeps its last good policies, and can be restarted on the same files. */
export interface RestartableGateway {
  readonly folder: string
  /** The file of the stored policies. */
  readonly stored: string
  /** Starts it in this process. Rejects like the program if it cannot start. */
  start(): Promise<void>
  /** Starts the built program and waits until it serves. */
  startProgram(): Promise<Program>
  stop(signal?: NodeJS.Signals): Promise<void>
  writePolicies(text: string): Promise<void>
  writeSettings(changes: Readonly<Record<string, unknown>>): Promise<void>
  /** Creates another key of `dev`. */
  createKey(): Promise<CreatedKey>
  /** Status of a request of `dev` to read a table. */
  read(table?: string, key?: string): Promise<number>
  admin(path: string): Promise<string>
  /** Resolves with the stored text once it differs from that one. */
  storedAfter(before?: string): Promise<string>
}

export const invalidPolicy = 'kind: AccessPolicie\n'

export function allowFor(user: string, operations: readonly string[] = ['all']): WrittenPolicy {
  return {
    name: 'everything',
    namespace: [],
    onDeny: 403,
    rules: [{ id: 'all', effect: 'allow', subjects: { users: [user] }, operations }],
  }
}

/** Creates the files of a gateway; `lastGood` changes the settings of the last good policies. */
export async function restartableGateway(
  lastGood: Readonly<Record<string, unknown>> = {},
): Promise<RestartableGateway> {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const folder = await temporaryFolder()
  const pepper = randomBytes(32).toString('base64url')
  const [file, stored] = [join(folder, 'gateway.yaml'), join(folder, 'data', 'last-good-policies')]
  const settings = {
    listen: { port: 0 },
    admin: { port: 0 },
    upstream: { url: upstream.url },
    identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
    policies: {
      folder: 'policies',
      emergencyFolder: 'emergency',
      lastGood: { folder: 'data', keyFile: 'key', ...lastGood },
    },
    audit: { folder: 'audit' },
    log: { level: 'error' },
  }
  await writeFiles(folder, {
    'keys.yaml': 'keys: []\n',
    pepper,
    key: randomBytes(32).toString('base64url'),
    'policies/policies.yaml': formatPolicies([allowFor('dev')]),
    'emergency/.keep': '',
    'gateway.yaml': stringify(settings),
  })
  const createOwnKey = (): Promise<CreatedKey> =>
    createKey(join(folder, 'keys.yaml'), Buffer.from(pepper), { principal: 'dev', groups: [] })
  const { text: firstKey } = await createOwnKey()
  let stop: ((signal: NodeJS.Signals) => Promise<unknown>) | undefined
  onTestFinished(async () => void (await stop?.('SIGKILL')))
  let [url, adminUrl] = ['', '']
  return {
    folder,
    stored,
    createKey: createOwnKey,
    async start() {
      const gateway = await startGateway({ settings: await readGatewaySettings(file, {}) })
      stop = gateway.close
      ;({ url, adminUrl } = gateway)
    },
    async startProgram() {
      const program = startProgram(['serve', '--config', file])
      stop = (signal) => {
        program.signal(signal)
        return program.ended
      }
      url = await program.announced(/^listening on (http\S+)$/m)
      adminUrl = await program.announced(/^admin on (http:\S+)$/m)
      return program
    },
    async stop(signal = 'SIGTERM') {
      await stop?.(signal)
    },
    async writePolicies(text) {
      await writeFile(join(folder, 'written'), text)
      await rename(join(folder, 'written'), join(folder, 'policies', 'policies.yaml'))
    },
    writeSettings: (changes) => writeFile(file, stringify({ ...settings, ...changes })),
    async read(table = 'orders', key = firstKey) {
      const headers = { 'x-api-key': key }
      return (await fetch(`${url}/v1/table/${table}/describe`, { method: 'POST', headers })).status
    },
    admin: async (path) => (await fetch(adminUrl + path)).text(),
    storedAfter: (before) =>
      eventually(async () => {
        const text = await readFile(stored, 'utf8')
        if (text === before) throw new Error('nothing new is stored yet')
        return text
      }),
  }
}
