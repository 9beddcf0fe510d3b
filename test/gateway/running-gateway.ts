import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { openGateway, type GatewaySetup, type TestedGateway } from './open-gateway.ts'
import { answers, startRecordingUpstream, type RecordingUpstream } from './recording-upstream.ts'

/** A gateway and what is behind it. */
export interface Pair {
  readonly gateway: TestedGateway
  readonly upstream: RecordingUpstream
}

/** One gateway in front of one upstream for all tests of a file; between them the upstream forgets. */
export function sharedGateway(setup: GatewaySetup = {}): Pair {
  let pair: Pair | undefined
  const started = (): Pair => {
    if (pair === undefined) throw new Error('The gateway is there only while tests run.')
    return pair
  }
  beforeAll(async () => {
    const upstream = await startRecordingUpstream()
    pair = { upstream, gateway: await openGateway(upstream.url, setup) }
  })
  beforeEach(() => {
    started().upstream.arrivals.length = 0
    started().upstream.answering = answers(200, {})
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

/** A gateway in front of an upstream, both closed when the test is over. */
export async function gatewayAndUpstream(setup: GatewaySetup = {}): Promise<Pair> {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  return { gateway: await gatewayBefore(upstream.url, setup), upstream }
}

/** A gateway in front of that URL, closed when the test is over. */
export async function gatewayBefore(upstreamUrl: string, setup: GatewaySetup = {}): Promise<TestedGateway> {
  const gateway = await openGateway(upstreamUrl, setup)
  onTestFinished(() => gateway.close())
  return gateway
}
