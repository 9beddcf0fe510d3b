import { memoize } from '../../lib/memoize.ts'
import type { Logger } from '../../observability/log/gateway-log.ts'
import { createLogThrottle } from '../../observability/log/log-throttle.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import { qualifiedRuleName } from '../../policy/testing/decision-test.ts'
import { isRestrictionRefusal } from '../restrictions/restricted-read.ts'
import type { Trace } from '../trace.ts'

/** By result. */
const maxLinesPerSecond = 10

/** Creates a function that counts a request that restrictions, or those of shadow policies, apply to. */
export function createRestrictionObserver(
  metrics: Metrics,
  log: Logger,
): (trace: Trace, namespace: readonly string[]) => void {
  const lines = createLogThrottle(maxLinesPerSecond)
  const counter = memoize((operation: string, result: string, ...namespace: string[]) =>
    metrics.restricted_reads_total.labels(operation, result, ...namespace),
  )

  function reportShadow({ progress: { route, principal, triedRestriction } }: Trace): void {
    if (route === undefined || triedRestriction === undefined) return
    const { restriction, result, error } = triedRestriction
    const operation = route.operation.name
    metrics.policy_shadow_restrictions_total.inc({ operation, result })
    const suppressed = lines.take(result)
    if (suppressed === undefined) return
    const candidateRules = restriction.parts.map(({ rule }) => qualifiedRuleName(rule))
    const common = { operation, id: route.id, principal: principal?.name, result }
    log.info({ ...common, candidateRules, error: error?.message, suppressed }, 'shadow restriction differs')
  }

  return (trace, namespace) => {
    const { route, headPermit, upstream } = trace.progress
    const { refusal } = trace
    if (route !== undefined && route.operation.effect === 'read' && headPermit?.restriction !== undefined) {
      const isRefused = refusal !== undefined && isRestrictionRefusal(refusal.reason)
      // A request that was placed was restricted.
      const result = isRefused ? refusal.reason : upstream && 'restricted'
      if (result !== undefined) counter(route.operation.name, result, ...namespace).inc()
    }
    reportShadow(trace)
  }
}
