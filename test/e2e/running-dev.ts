import { expect } from 'vitest'
import { join } from 'node:path'
import { connect, connectNamespace, type Connection } from '@lancedb/lancedb'
import { startProgram, type Program, type ProgramEnd } from './built-program.ts'
import { runCommand } from '../support/run-command.ts'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

/** `catalog-gateway dev` with its own data folder, on free ports. */
export interface RunningDev {
  readonly url: string
  readonly adminUrl: string
  /** The development key, which allows everything. */
  readonly key: string
  readonly dataFolder: string
  readonly auditFolder: string
  readonly program: Program
  /** The client `db://...`, whose data passes through the gateway. */
  remoteClient(key?: string): Promise<Connection>
  /** The catalog client, which writes data itself and commits through the gateway. */
  catalogClient(key?: string): Promise<Connection>
  /** Sends a request with the development key, unless the headers contain another. */
  send(method: string, target: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  /** Creates a key for that principal and waits until the running gateway accepts it. */
  createKey(principal: string, ...options: string[]): Promise<string>
  /** Stops it as an operator does; keeps the data folder. */
  stop(): Promise<ProgramEnd>
  /** Stops it as an operator does and removes the data folder. Throws if it fails. */
  remove(): Promise<void>
}

/** Matches the log of `dev` if no line is a warning, an error, or a request that failed. */
export const withoutProblems: unknown = expect.not.stringMatching(/^\S+ (?:warn|error|fatal|[45]\d\d) /m)

/** Starts `dev`, by default in a new data folder, and waits until it is ready. */
export async function startDev(options: { dataFolder?: string } = {}): Promise<RunningDev> {
  const dataFolder = options.dataFolder ?? (await makeTemporaryFolder())
  const key = 'key-of-the-developer'
  const { program, url, adminUrl } = await announcedDev(dataFolder, key).catch(async (error: unknown) => {
    if (options.dataFolder === undefined) await removeFolder(dataFolder)
    throw error
  })
  const auditFolder = join(dataFolder, 'audit')
  const stop = async (): Promise<ProgramEnd> => {
    program.signal('SIGTERM')
    return program.ended
  }
  const send: RunningDev['send'] = (method, target, body, headers) =>
    fetch(url + target, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
    })
  return {
    url,
    adminUrl,
    key,
    dataFolder,
    auditFolder,
    program,
    remoteClient: (own = key) => connect('db://any', { apiKey: own, hostOverride: url }),
    catalogClient: (own = key) => connectNamespace('rest', { uri: url, headers: { 'x-api-key': own } }),
    send,
    createKey: (principal, ...more) => createKey(dataFolder, send, ['--principal', principal, ...more]),
    stop,
    remove: async () => {
      const { status, messages } = await stop()
      await removeFolder(dataFolder)
      if (status !== 0) throw new Error(`dev ended with the status ${status}:\n${messages}`)
    },
  }
}

async function announcedDev(dataFolder: string, key: string) {
  const ports = ['--port', '0', '--admin-port', '0']
  const program = startProgram(['dev', ...ports, '--data-dir', dataFolder, '--api-key', key])
  const url = await program.announced(/^listening on (http:\S+)$/m)
  return { program, url, adminUrl: await program.announced(/^admin on (http:\S+)$/m) }
}

async function createKey(
  dataFolder: string,
  send: RunningDev['send'],
  options: readonly string[],
): Promise<string> {
  const files = ['--store', join(dataFolder, 'keys.yaml'), '--pepper-file', join(dataFolder, 'pepper')]
  const { output } = await runCommand(['keys', 'create', ...files, ...options])
  const key = output.trim()
  await eventually(async () => {
    const { status } = await send('GET', '/v1/namespace/$/list', undefined, { 'x-api-key': key })
    if (status === 401) throw new Error('the gateway does not know the key yet')
  })
  return key
}
