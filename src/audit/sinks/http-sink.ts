import type { Outbound } from '../../lib/outbound/outbound.ts'
import { createHttpPoster } from './http-poster.ts'
import type { HttpSettings } from '../../config/audit/audit-sink-settings.ts'
import type { Sink } from './sink.ts'

/** Posts JSON lines, or CloudEvents (HTTP binding 3.3). Any 2xx acknowledges the batch; redirects are not followed. */
export async function createHttpSink(settings: HttpSettings, outbound: Outbound): Promise<Sink> {
  const poster = await createHttpPoster(settings, outbound)
  const isBatch = settings.format === 'cloudevents'
  const contentType = isBatch ? 'application/cloudevents-batch+json' : 'application/x-ndjson'
  return {
    async deliver(batch, signal) {
      const texts = batch.map(({ text }) => text)
      const body = isBatch ? `[${texts.join(',')}]` : `${texts.join('\n')}\n`
      await poster.post(contentType, body, signal)
    },
    close: () => poster.close(),
  }
}
