import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Pool, type Dispatcher } from 'undici'
import { stringify } from 'yaml'
import { startProgram, type Program } from '../e2e/built-program.ts'
import { childrenOf } from '../e2e/process-tree.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { healthPath } from '../gateway/support/recording-upstream.ts'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { formatPolicies, type WrittenPolicy } from '../policy/policy-builder.ts'

export interface RunningWorkers {
  readonly program: Program
  readonly url: string
  readonly adminUrl: string
  readonly auditFolder: string
  /** Creates a client with its own connection to one of the workers. */
  client(): WorkerClient
  /** Process ids of the workers, in no order. */
  workers(): Promise<number[]>
  /** Process id of the worker that writes the log in that folder. */
  writerOf(log: string): Promise<number>
  metric(name: string): Promise<Readonly<Record<string, number>>>
  setPolicies(policies: readonly WrittenPolicy[]): Promise<void>
}

/** One connection, with the key of `dev`. */
export interface WorkerClient {
  get(target: string): Promise<WorkerResponse>
  post(target: string, body?: object): Promise<WorkerResponse>
  close(): Promise<void>
}

interface WorkerResponse {
  readonly status: number
  readonly body: unknown
}

const pepper = 'a-pepper-of-at-least-thirty-two-characters'

/** Creates the files of a gateway for that upstream URL; returns the settings file and the key of `dev`. */
export async function workerFiles(
  folder: string,
  upstreamUrl: string,
  settings: object = {},
): Promise<{ file: string; key: string }> {
  const file = join(folder, 'gateway.yaml')
  await writeFile(join(folder, 'pepper'), pepper)
  await writeFile(join(folder, 'keys.yaml'), 'keys: []\n')
  const { text } = await createKey(join(folder, 'keys.yaml'), Buffer.from(pepper), {
    principal: 'dev',
    groups: [],
  })
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'policies.yaml'), formatPolicies([allowEverything]))
  const usual = {
    workers: 2,
    listen: { port: 0 },
    admin: { port: 0 },
    upstream: { url: upstreamUrl, healthCheck: { path: healthPath } },
    identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
    policies: { folder: 'policies' },
    audit: { folder: 'audit', reserveBytes: 0 },
    log: { level: 'warn' },
  }
  await writeFile(file, stringify({ ...usual, ...settings }))
  return { file, key: text }
}

export async function startTwoWorkers(
  folder: string,
  upstreamUrl: string,
  settings: object = {},
): Promise<RunningWorkers> {
  const { file, key } = await workerFiles(folder, upstreamUrl, settings)
  const program = startProgram(['serve', '--config', file])
  const url = await program.announced(/^listening on (http:\S+)$/m)
  const adminUrl = await program.announced(/^admin on (http:\S+)$/m)
  return {
    program,
    url,
    adminUrl,
    auditFolder: join(folder, 'audit'),
    client: () => clientOf(url, key),
    workers: () => childrenOf(program.pid),
    writerOf: async (log) =>
      (JSON.parse(await readFile(join(log, 'writer.lock'), 'utf8')) as { pid: number }).pid,
    async metric(name) {
      const text = await (await fetch(`${adminUrl}/metrics`)).text()
      const samples = text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))
      return Object.fromEntries([...samples].map(([, labels = '', value]) => [labels, Number(value)]))
    },
    setPolicies: (policies) => writeFile(join(folder, 'policies', 'policies.yaml'), formatPolicies(policies)),
  }
}

function clientOf(url: string, key: string): WorkerClient {
  const pool = new Pool(url, { connections: 1 })
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  return {
    get: (target) => responseTo(pool.request({ method: 'GET', path: target, headers })),
    post: (target, body = {}) =>
      responseTo(pool.request({ method: 'POST', path: target, headers, body: JSON.stringify(body) })),
    close: () => pool.destroy(),
  }
}

async function responseTo(request: Promise<Dispatcher.ResponseData>): Promise<WorkerResponse> {
  const { statusCode, body } = await request
  return { status: statusCode, body: await body.json().catch(() => undefined) }
}
