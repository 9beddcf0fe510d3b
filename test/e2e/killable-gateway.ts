import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { projectFolder, startProgram, startScript, type Program } from './built-program.ts'
import { runCommand } from '../support/run-command.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

/** A gateway and a catalog, each its own program, that can be killed and restarted on the same files. */
export interface KillableGateway {
  readonly config: string
  readonly auditFolder: string
  readonly dataFolder: string
  /** Starts the gateway, and the catalog unless it runs. */
  start(): Promise<void>
  /** Kills the gateway and, if requested, the catalog. */
  kill(withCatalog: boolean): Promise<void>
  send(target: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  /** Sends a request to the catalog, past the gateway. */
  sendPast(target: string, body: Uint8Array, headers: Record<string, string>): Promise<Response>
  metric(name: string): Promise<number>
}

const token = 'token-of-the-catalog'

/** Creates the files of both. In-doubt changes are resolved after this time. */
export async function killableGateway(gracePeriodMs: number): Promise<KillableGateway> {
  const folder = await temporaryFolder()
  const [catalogFile, gatewayFile] = [join(folder, 'catalog.yaml'), join(folder, 'gateway.yaml')]
  const listen = { host: '127.0.0.1', port: await freePort() }
  const data = { folder: join(folder, 'data') }
  await writeFile(catalogFile, stringify({ listen, data, accessToken: token, log: { level: 'error' } }))
  await mkdir(join(folder, 'audit'))
  await writeFile(join(folder, 'keys.yaml'), 'keys: []\n')
  await writeFile(join(folder, 'pepper'), 'a-pepper-of-at-least-thirty-two-characters')
  await writeFile(
    gatewayFile,
    stringify({
      listen: { port: 0 },
      admin: { port: 0 },
      upstream: {
        url: `http://127.0.0.1:${listen.port}`,
        credential: { header: 'authorization', value: `Bearer ${token}` },
      },
      identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
      policies: { folder: join(projectFolder, 'policies', 'development') },
      unsafe: ['development-policies'],
      audit: { folder: 'audit' },
      log: { level: 'warn' },
    }),
  )
  const stores = ['--store', join(folder, 'keys.yaml'), '--pepper-file', join(folder, 'pepper')]
  const { output } = await runCommand(['keys', 'create', ...stores, '--principal', 'dev'])
  const key = output.trim()

  let catalog: Program | undefined
  let gateway: Program | undefined
  let [url, adminUrl] = ['', '']

  /** The killed process may hold the port for a moment. */
  async function startCatalog(): Promise<Program> {
    return eventually(async () => {
      const program = startProgram(['backend', '--config', catalogFile])
      await program.announced(/^listening on (\S+)$/m)
      return program
    })
  }

  return {
    config: gatewayFile,
    auditFolder: join(folder, 'audit'),
    dataFolder: data.folder,
    async start() {
      catalog ??= await startCatalog()
      const script = new URL('resolving-gateway.ts', import.meta.url)
      gateway = startScript(script, [gatewayFile, String(gracePeriodMs)])
      url = await gateway.announced(/^listening on (http:\S+)$/m)
      adminUrl = await gateway.announced(/^admin on (http:\S+)$/m)
    },
    async kill(withCatalog) {
      gateway?.signal('SIGKILL')
      if (withCatalog) catalog?.signal('SIGKILL')
      await gateway?.ended
      if (!withCatalog) return
      await catalog?.ended
      catalog = undefined
    },
    send: (target, body, headers) =>
      fetch(url + target, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
        body: body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    sendPast: (target, body, headers) =>
      fetch(`http://127.0.0.1:${listen.port}${target}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, ...headers },
        body,
      }),
    async metric(name) {
      const text = await (await fetch(`${adminUrl}/metrics`)).text()
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    },
  }
}
