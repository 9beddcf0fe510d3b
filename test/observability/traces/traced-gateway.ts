import { onTestFinished } from 'vitest'
import type { z } from 'zod'
import { tracesSchema } from '../../../src/config/telemetry-settings.ts'
import type { GatewaySetup } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream, type GatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from './otlp-receiver.ts'

export interface TracedGateway extends GatewayAndUpstream {
  readonly receiver: OtlpReceiver
  /** Closes the gateway and returns all its spans by start time. */
  readonly spans: () => Promise<ReceivedSpan[]>
}

/** All three are closed when the test ends. */
export async function tracedGateway(
  traces: Partial<z.input<typeof tracesSchema>> = {},
  setup: GatewaySetup = {},
): Promise<TracedGateway> {
  const receiver = await startOtlpReceiver()
  onTestFinished(() => receiver.close())
  const pair = await startGatewayAndUpstream({
    ...setup,
    adjust: async (settings, folder) => ({
      ...((await setup.adjust?.(settings, folder)) ?? settings),
      traces: tracesSchema.parse({ endpoint: receiver.endpoint, ...traces }),
    }),
  })
  return {
    ...pair,
    receiver,
    async spans() {
      await pair.gateway.stop()
      return receiver.spans.toSorted((one, other) => one.start - other.start)
    },
  }
}

export function spanNamed(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const [found, ...others] = spans.filter((span) => span.name === name)
  if (found === undefined || others.length > 0) {
    throw new Error(`expected one span ${name}, but there are ${spans.map((span) => span.name).join(' ')}`)
  }
  return found
}
