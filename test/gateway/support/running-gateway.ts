import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
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
    started().upstream.answering = respondWith(200, {})
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
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  return { gateway: await startGatewayBefore(upstream.url, setup), upstream }
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
