import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Pool, type buildConnector, type Dispatcher } from 'undici'
import { operationNames, operations } from '../../../src/catalog-api/operations.ts'
import type { AuditRecord } from '../../../src/audit/records/audit-record.ts'
import { auditSchema } from '../../../src/config/audit-settings.ts'
import type { GatewaySettings } from '../../../src/config/gateway-settings.ts'
import { limitsSchema, listenSchema, timeoutsSchema } from '../../../src/config/listen-settings.ts'
import type { GatewayTuning } from '../../../src/gateway/bootstrap/open-observability.ts'
import { startGateway } from '../../../src/gateway/bootstrap/start-gateway.ts'
import { upstreamSchema, type UpstreamSettings } from '../../../src/config/upstream/upstream-settings.ts'
import { createKey } from '../../../src/identity/api-keys/key-store.ts'
import { logSchema } from '../../../src/config/telemetry-settings.ts'
import { ofKind, recordsOf } from '../../audit/read-records.ts'
import { formatPolicies, type WrittenPolicy } from '../../policy/policy-builder.ts'
import { createResettingConnector } from '../../support/resetting-connector.ts'
import { createTestResponse, type TestResponse } from './test-response.ts'

/** Differences of a test gateway from the default one. */
export interface GatewaySetup {
  /** By default `dev` may do everything. */
  readonly policies?: readonly WrittenPolicy[]
  readonly users?: readonly string[]
  readonly tuning?: GatewayTuning
  /** By section; what a section that is an object does not name keeps its usual value. */
  readonly settings?: ChangedSettings
  /** Changes what depends on the usual settings, or on files. */
  readonly adjust?: (settings: GatewaySettings, folder: string) => GatewaySettings | Promise<GatewaySettings>
}

type ChangedSettings = {
  readonly [Section in keyof GatewaySettings]?: GatewaySettings[Section] extends readonly unknown[]
    ? GatewaySettings[Section]
    : Partial<GatewaySettings[Section]>
}

export interface RequestOptions {
  /** The principal that sends it; default `dev`, null for no credentials. */
  readonly as?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** Objects other than bytes and streams are sent as JSON. */
  readonly body?: object | string
  readonly signal?: AbortSignal
}

export interface TestedGateway {
  readonly url: string
  readonly adminUrl: string
  /** Undefined without pass-through routes. */
  readonly passThroughUrl: string | undefined
  readonly policyFolder: string
  readonly auditFolder: string
  key(principal: string): string
  /** Returns the records of that kind in its audit log. */
  recorded<Kind extends AuditRecord['kind']>(kind: Kind): Promise<Extract<AuditRecord, { kind: Kind }>[]>
  /** Returns the text of its metrics. */
  metrics(): Promise<string>
  /** Replaces the file with the policies. */
  replacePolicies(text: string): Promise<void>
  send(method: Dispatcher.HttpMethod, target: string, parts?: RequestOptions): Promise<TestResponse>
  get(target: string, parts?: RequestOptions): Promise<TestResponse>
  post(target: string, parts?: RequestOptions): Promise<TestResponse>
  /** Resolves before the body of the response has been read. */
  open(
    method: Dispatcher.HttpMethod,
    target: string,
    parts?: RequestOptions,
  ): Promise<Dispatcher.ResponseData>
  /** Closes the gateway; its files remain. */
  stop(): Promise<void>
  /** Closes everything and removes the files. */
  close(): Promise<void>
}

/** Policies must name these operations: no group has them. */
export const ungrouped = operationNames.filter((name) => operations[name].group === undefined)

/** Everything, for `dev`; denials to others are not concealed, even if they may not list. */
export const allowEverything: WrittenPolicy = {
  name: 'everything',
  namespace: [],
  onDeny: 403,
  rules: [{ id: 'all', effect: 'allow', subjects: { users: ['dev'] }, operations: ['all', ...ungrouped] }],
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

/** A setup that changes the default upstream settings, and the bounds of requests to it. */
export function withUpstream(
  change: (usual: UpstreamSettings) => Partial<UpstreamSettings>,
  tuning: GatewayTuning['upstream'] = {},
): GatewaySetup {
  return {
    tuning: { upstream: tuning },
    adjust: (settings) => ({
      ...settings,
      upstreams: settings.upstreams.map((usual) => ({ ...usual, ...change(usual) })),
    }),
  }
}

/** Starts a gateway in front of that URL; the caller must close it. */
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
  const settings = mergeSettings(settingsFor(folder, upstreamUrl), setup.settings)
  const gateway = await startGateway({
    settings: (await setup.adjust?.(settings, folder)) ?? settings,
    staticKey: { text: keys.get('dev') ?? '', principal: 'dev', groups: [] },
    tuning: completeTuning(setup.tuning),
  })
  const key = (principal: string): string => keys.get(principal) ?? principal
  const client = connectClient(new URL(gateway.url).origin, key)
  return {
    ...client,
    url: gateway.url,
    adminUrl: gateway.adminUrl,
    passThroughUrl: gateway.passThroughUrl,
    policyFolder: join(folder, 'policies'),
    auditFolder: settings.audit.folder,
    async replacePolicies(text) {
      await writeFile(join(folder, 'written'), text)
      await rename(join(folder, 'written'), join(folder, 'policies', 'policies.yaml'))
    },
    recorded: async (kind) => ofKind(await recordsOf(settings.audit.folder), kind),
    metrics: async () => (await fetch(`${gateway.adminUrl}/metrics`)).text(),
    key,
    stop: gateway.close,
    async close() {
      await client.close()
      await gateway.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Creates keys, pepper and policies; returns the keys by principal. */
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
  const text = formatPolicies(policies ?? [allowEverything])
  await symlink(await cacheFile(text), join(folder, 'policies', 'policies.yaml'))
  return keys
}

/**
 * Returns a file with that text. Gateways and test runs share it, because a gateway does not read a file that has just
 * been written before 100 ms have passed.
 */
async function cacheFile(text: string): Promise<string> {
  const file = join(policyCache, `${createHash('sha256').update(text).digest('hex')}.yaml`)
  if (existsSync(file)) return file
  await mkdir(policyCache, { recursive: true })
  const draft = join(policyCache, randomUUID())
  await writeFile(draft, text)
  await rename(draft, file)
  return file
}

const policyCache = fileURLToPath(new URL('../../../node_modules/.cache/test-policies', import.meta.url))

/** Short enough for tests, and without health checks that change what a test has set up. */
function completeTuning(tuning: GatewayTuning = {}): GatewayTuning {
  return {
    ...tuning,
    clients: { drainDelayMs: 0, ...tuning.clients },
    upstream: {
      responseHeadersTimeoutMs: 20_000,
      responseBodyTimeoutMs: 20_000,
      healthCheckIntervalMs: 60_000,
      ...tuning.upstream,
    },
  }
}

function settingsFor(folder: string, upstreamUrl: string): GatewaySettings {
  return {
    listen: listenSchema.parse({ port: 0 }),
    admin: { host: '127.0.0.1', port: 0, allowedHosts: [], console: false },
    upstreams: [upstreamSchema.parse({ url: upstreamUrl, maxConnections: 16 })],
    crossSite: { allowedOrigins: [] },
    databases: 'refused',
    identity: {
      apiKeys: { store: join(folder, 'keys.yaml'), pepperFile: join(folder, 'pepper') },
      issuers: [],
    },
    policies: { folder: [join(folder, 'policies')] },
    audit: auditSchema.parse({ folder: join(folder, 'audit') }),
    dialects: [],
    limits: limitsSchema.parse({ maxJsonBytes: 1024 * 1024 }),
    timeouts: timeoutsSchema.parse({}),
    outbound: {},
    log: logSchema.parse({ level: 'silent' }),
    unsafe: [],
  }
}

function mergeSettings(usual: GatewaySettings, changes: ChangedSettings = {}): GatewaySettings {
  const sections = Object.entries(changes).map(([section, changed]) => {
    const before = usual[section as keyof GatewaySettings]
    const isMerged = typeof before === 'object' && !Array.isArray(before)
    return [section, isMerged ? { ...(before as object), ...(changed as object) } : changed] as const
  })
  return { ...usual, ...Object.fromEntries(sections) }
}

/** Sends requests with the keys of principals to that URL. */
export function connectClient(
  url: string,
  key: TestedGateway['key'],
  tls: buildConnector.BuildOptions = {},
): Pick<TestedGateway, 'open' | 'send' | 'get' | 'post' | 'close'> {
  const client = new Pool(url, { connect: createResettingConnector(tls) })
  const open: TestedGateway['open'] = (method, path, parts = {}) =>
    client.request({ method, path, ...sentParts(parts, key) })
  const send: TestedGateway['send'] = async (...request) => readResponse(await open(...request))
  return {
    open,
    send,
    get: (target, parts) => send('GET', target, parts),
    post: (target, parts) => send('POST', target, parts),
    close: () => client.destroy(),
  }
}

function sentParts(
  { as = 'dev', headers, body, signal }: RequestOptions,
  key: (principal: string) => string,
) {
  // One signal may end more requests than Node.js expects.
  if (signal !== undefined) setMaxListeners(0, signal)
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
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return createTestResponse(statusCode, headers, Buffer.concat(chunks))
}
