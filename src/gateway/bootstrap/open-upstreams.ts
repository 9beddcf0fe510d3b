import type { AssertionSigner } from '../../identity/index.ts'
import { exportCertificate } from '../../observability/metrics/gauges.ts'
import { exportUpstreams } from '../upstream/upstream-metrics.ts'
import { createCallerHeaders } from '../upstream/caller-headers.ts'
import { readUpstreamOptions } from '../upstream/upstream-files.ts'
import { createUpstreams, type Upstreams } from '../upstream/upstreams.ts'
import type { Bootstrap } from './open-observability.ts'
import type { Logger } from '../../observability/log/gateway-log.ts'
import type { UpstreamObserver } from '../upstream/upstream.ts'

/** Opens the upstreams, and follows the files that their settings name. */
export async function openUpstreams(
  { settings, tuning, closers, metrics, log, files, outbound }: Bootstrap,
  assertions: AssertionSigner | undefined,
): Promise<Upstreams> {
  const options = await Promise.all(
    settings.upstreams.map(async (upstream) => ({
      ...(await readUpstreamOptions(upstream, outbound, files.follow, (certificate) =>
        exportCertificate(metrics, certificate, upstream.name),
      )),
      bounds: tuning.upstream,
      callerHeaders: createCallerHeaders(upstream.name, upstream.identity, assertions),
    })),
  )
  const upstreams = createUpstreams(options, createUpstreamLog(log))
  closers.push(() => upstreams.close())
  exportUpstreams(metrics, upstreams.all)
  return upstreams
}

/** Logs that an upstream is lost and that it is back. */
function createUpstreamLog(log: Logger): UpstreamObserver {
  return {
    healthChanged(upstream, isHealthy, reason) {
      if (isHealthy) log.info({ upstream }, 'upstream healthy')
      else log.warn({ upstream, reason }, 'upstream unhealthy')
    },
    circuitChanged(upstream, state, reason) {
      if (state === 'closed') log.info({ upstream }, 'circuit closed')
      else log.warn({ upstream, reason }, 'circuit opened')
    },
  }
}
