import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Pool, type Dispatcher } from 'undici'
import { auditSchema } from '../../../src/config/audit/audit-settings.ts'
import type { GatewaySettings } from '../../../src/config/gateway-settings.ts'
import { limitsSchema, timeoutsSchema } from '../../../src/config/listen-settings.ts'
import { startGateway } from '../../../src/gateway/bootstrap/start-gateway.ts'
import { type WorkerPart } from '../../../src/gateway/bootstrap/worker-part.ts'
import { upstreamSchema, type UpstreamSettings } from '../../../src/config/upstream/upstream-settings.ts'
import { createKey } from '../../../src/identity/api-keys/key-store.ts'
import { logSchema } from '../../../src/config/log-settings.ts'
import { formatPolicies, type WrittenPolicy } from '../../policy/policy-builder.ts'
import { createTestResponse, type TestResponse } from './test-response.ts'
import { healthPath } from './recording-upstream.ts'

/** What a gateway of a test is like, where it is not as most are. */
export interface GatewaySetup {
  /** `dev` may do everything, unless told. */
  readonly policies?: readonly WrittenPolicy[]
  /** Principals that get an API key besides `dev`. */
  readonly users?: readonly string[]
  /** As one of several processes. */
  readonly worker?: WorkerPart
  readonly adjust?: (settings: GatewaySettings, folder: string) => GatewaySettings | Promise<GatewaySettings>
}

/** What a request holds besides method and target. */
export interface RequestOptions {
  /** Who sends it; `dev` unless told, nobody for null. */
  readonly as?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** An object that is no bytes and no stream is sent as JSON. */
  readonly body?: object | string
  readonly signal?: AbortSignal
}

/** A gateway of a test. */
export interface TestedGateway {
  readonly url: string
  readonly adminUrl: string
  readonly policyFile: string
  readonly auditFolder: string
  /** The API key of a principal. */
  key(principal: string): string
  send(method: Dispatcher.HttpMethod, target: string, parts?: RequestOptions): Promise<TestResponse>
  get(target: string, parts?: RequestOptions): Promise<TestResponse>
  post(target: string, parts?: RequestOptions): Promise<TestResponse>
  /** Ends before the answer has been read: for those who read it in their own time. */
  open(
    method: Dispatcher.HttpMethod,
    target: string,
    parts?: RequestOptions,
  ): Promise<Dispatcher.ResponseData>
  /** Closes the gateway; its files stay. */
  stop(): Promise<void>
  /** Closes everything and removes the files. */
  close(): Promise<void>
}

/** Everything, for `dev`; what others may not do is refused as such, also where they may not list. */
export const allowEverything: WrittenPolicy = {
  name: 'everything',
  namespace: [],
  onDeny: 403,
  rules: [{ id: 'all', effect: 'allow', subjects: { users: ['dev'] }, operations: ['all'] }],
}

/** Everything for two principals, `dev` and `mallory`. */
export const allowEverythingForTwo = {
  users: ['mallory'],
  policies: [
    {
      ...allowEverything,
      rules: allowEverything.rules.map((rule) => ({ ...rule, subjects: { users: ['dev', 'mallory'] } })),
    },
  ],
} satisfies GatewaySetup

/** A setup whose upstream is as most are, but for what is changed. */
export function withUpstream(change: (usual: UpstreamSettings) => Partial<UpstreamSettings>): GatewaySetup {
  return {
    adjust: (settings) => ({
      ...settings,
      upstreams: settings.upstreams.map((usual) => ({ ...usual, ...change(usual) })),
    }),
  }
}

/** Starts a gateway in front of that URL; whoever starts it closes it. */
export async function openGateway(upstreamUrl: string, setup: GatewaySetup = {}): Promise<TestedGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'))
  try {
    return await openIn(folder, upstreamUrl, setup)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function openIn(folder: string, upstreamUrl: string, setup: GatewaySetup): Promise<TestedGateway> {
  const keys = await makeFiles(folder, setup)
  const settings = settingsFor(folder, upstreamUrl)
  const gateway = await startGateway({
    settings: (await setup.adjust?.(settings, folder)) ?? settings,
    staticKey: { text: keys.get('dev') ?? '', principal: 'dev', groups: [] },
    ...(setup.worker && { worker: setup.worker }),
  })
  const pool = new Pool(gateway.url)
  const key = (principal: string): string => keys.get(principal) ?? principal
  const open: TestedGateway['open'] = (method, target, parts = {}) =>
    pool.request({ method, path: target, ...sentParts(parts, key) })
  const send: TestedGateway['send'] = async (method, target, parts) =>
    readResponse(await open(method, target, parts))
  return {
    url: gateway.url,
    adminUrl: gateway.adminUrl,
    policyFile: join(folder, 'policies', 'policies.yaml'),
    auditFolder: settings.audit.folder,
    key,
    open,
    send,
    stop: gateway.close,
    get: (target, parts) => send('GET', target, parts),
    post: (target, parts) => send('POST', target, parts),
    async close() {
      await pool.destroy()
      await gateway.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Keys, pepper and policies; answers the keys by principal. */
async function makeFiles(folder: string, { users = [], policies }: GatewaySetup) {
  const keys = new Map([['dev', `dev-${randomBytes(18).toString('base64url')}`]])
  const pepper = randomBytes(32).toString('base64url')
  const store = join(folder, 'keys.yaml')
  await writeFile(join(folder, 'pepper'), pepper)
  await writeFile(store, 'keys: []\n')
  for (const principal of users) {
    const { text } = await createKey(store, Buffer.from(pepper), { principal, groups: [] })
    keys.set(principal, text)
  }
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'policies.yaml'), formatPolicies(policies ?? [allowEverything]))
  return keys
}

function settingsFor(folder: string, upstreamUrl: string): GatewaySettings {
  return {
    listen: { host: '127.0.0.1', port: 0 },
    admin: { host: '127.0.0.1', port: 0, console: false },
    workers: 1,
    upstreams: [
      upstreamSchema.parse({
        url: upstreamUrl,
        maxConnections: 16,
        timeouts: { responseHeadersTimeoutMs: 20_000, responseBodyTimeoutMs: 20_000 },
        healthCheck: { path: healthPath, intervalMs: 60_000 },
      }),
    ],
    identity: {
      apiKeys: { store: join(folder, 'keys.yaml'), pepperFile: join(folder, 'pepper') },
      issuers: [],
    },
    policies: { folder: join(folder, 'policies') },
    // Tests count the requests that reach the upstream: only those of continuity let the gateway send its own.
    audit: auditSchema.parse({ folder: join(folder, 'audit'), reserveBytes: 0, continuity: 'off' }),
    dialects: [],
    limits: limitsSchema.parse({ maxJsonBytes: 1024 * 1024 }),
    timeouts: timeoutsSchema.parse({}),
    log: logSchema.parse({ level: 'silent' }),
    unsafe: [],
  }
}

function sentParts(
  { as = 'dev', headers, body, signal }: RequestOptions,
  key: (principal: string) => string,
) {
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable
  return {
    headers: {
      ...(as !== null && { 'x-api-key': key(as) }),
      ...(body !== undefined && !isRaw && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  }
}

async function readResponse({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<TestResponse> {
  return createTestResponse(statusCode, headers, Buffer.from(await body.arrayBuffer()))
}
