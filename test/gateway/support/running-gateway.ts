import type { ServerOptions } from 'node:https'
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { upstreamSchema, type UpstreamSettings } from '../../../src/config/upstream/upstream-settings.ts'
import { openGateway, type GatewaySetup, type TestedGateway } from './open-gateway.ts'
import { respondWith, startRecordingUpstream, type RecordingUpstream } from './recording-upstream.ts'

export interface GatewayAndUpstream {
  readonly gateway: TestedGateway
  readonly upstream: RecordingUpstream
}

/** Shares one gateway and one upstream between all tests of a file; the upstream is reset after each test. */
export function useSharedGateway(setup: GatewaySetup = {}): GatewayAndUpstream {
  let pair: GatewayAndUpstream | undefined
  const started = (): GatewayAndUpstream => {
    if (pair === undefined) throw new Error('The gateway is there only while tests run.')
    return pair
  }
  beforeAll(async () => {
    const upstream = await startRecordingUpstream()
    pair = { upstream, gateway: await openGateway(upstream.url, setup) }
  })
  beforeEach(() => {
    started().upstream.requests.length = 0
    started().upstream.handler = respondWith(200, {})
  })
  afterAll(async () => {
    await started().gateway.close()
    await started().upstream.close()
  })
  return {
    get gateway() {
      return started().gateway
    },
    get upstream() {
      return started().upstream
    },
  }
}

/** Starts a gateway and an upstream, both closed at the end of the test. */
export async function startGatewayAndUpstream(setup: GatewaySetup = {}): Promise<GatewayAndUpstream> {
  const upstream = await startUpstream()
  return { gateway: await startGatewayBefore(upstream.url, setup), upstream }
}

/** Starts an upstream, closed at the end of the test; with a certificate it uses TLS. */
export async function startUpstream(certificate?: ServerOptions): Promise<RecordingUpstream> {
  const upstream = await startRecordingUpstream(certificate)
  onTestFinished(() => upstream.close())
  return upstream
}

/** Starts a gateway in front of that URL, closed at the end of the test. */
export async function startGatewayBefore(
  upstreamUrl: string,
  setup: GatewaySetup = {},
): Promise<TestedGateway> {
  const gateway = await openGateway(upstreamUrl, setup)
  onTestFinished(() => gateway.close())
  return gateway
}

/** Settings of several upstreams, by name. One without namespaces is that of the root. */
export type Mounts<Name extends string> = Readonly<
  Record<Name, Pick<UpstreamSettings, 'namespaces'> & Partial<UpstreamSettings>>
>

export interface GatewayAndUpstreams<Name extends string> {
  readonly gateway: TestedGateway
  readonly upstreams: Readonly<Record<Name, RecordingUpstream>>
  readonly close: () => Promise<void>
}

/** Starts a gateway and several upstreams. A `url` of a mount is a path at its upstream. */
export async function startGatewayAndUpstreams<Name extends string>(
  mounts: Mounts<Name>,
  setup: GatewaySetup = {},
): Promise<GatewayAndUpstreams<Name>> {
  const started = new Map<string, RecordingUpstream>()
  const settings: UpstreamSettings[] = []
  for (const [name, { url = '', ...mount }] of Object.entries<Partial<UpstreamSettings>>(mounts)) {
    const upstream = await startRecordingUpstream()
    started.set(name, upstream)
    settings.push({ ...upstreamSchema.parse({ name, url: upstream.url + url }), ...mount })
  }
  const adjust: GatewaySetup['adjust'] = (usual) => ({ ...usual, upstreams: settings })
  const gateway = await openGateway('http://127.0.0.1:9', { ...setup, adjust })
  return {
    gateway,
    // Every mount has one.
    upstreams: Object.fromEntries(started) as Record<Name, RecordingUpstream>,
    async close() {
      await gateway.close()
      for (const upstream of started.values()) await upstream.close()
    },
  }
}

/** Shares a gateway and several upstreams between all tests of a file; their requests are forgotten before each test. */
export function useSharedGatewayAndUpstreams<Name extends string>(
  mounts: Mounts<Name>,
  setup?: GatewaySetup,
): GatewayAndUpstreams<Name> {
  const shared: { started?: GatewayAndUpstreams<Name> } = {}
  beforeAll(async () => {
    shared.started = await startGatewayAndUpstreams(mounts, setup)
  })
  beforeEach(() => {
    for (const { requests } of Object.values<RecordingUpstream>(started().upstreams)) requests.length = 0
  })
  afterAll(() => started().close())
  const started = (): GatewayAndUpstreams<Name> => {
    if (shared.started === undefined) throw new Error('The gateway is there only while tests run.')
    return shared.started
  }
  return {
    get gateway() {
      return started().gateway
    },
    get upstreams() {
      return started().upstreams
    },
    close: () => started().close(),
  }
}
