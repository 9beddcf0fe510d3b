import type { Logger } from '../../observability/log/gateway-log.ts'
import type { UpstreamObserver } from './upstream-observer.ts'

/** Logs that an upstream is lost and that it is back. */
export function createUpstreamLog(log: Logger): UpstreamObserver {
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
