import type { DurationHistogram } from '../../telemetry/duration-histogram.ts'
import type { Trace } from '../trace.ts'

/** Counts how long each stage of a request took, when the request is over at `endedAt` (performance.now()). */
export function stageTimer(histogram: DurationHistogram): (trace: Trace, endedAt: number) => void {
  // Found once: this runs for every request.
  const series = {
    receive: histogram.labels('receive'),
    match: histogram.labels('match'),
    authenticate: histogram.labels('authenticate'),
    authorize: histogram.labels('authorize'),
    limit: histogram.labels('limit'),
    check: histogram.labels('check'),
    audit: histogram.labels('audit'),
    forward: histogram.labels('forward'),
  }
  return ({ entered }, endedAt) => {
    let forwardMs = 0
    let isForwarded = false
    for (let index = 0; index < entered.length; index += 1) {
      const { stage, at } = entered[index] as Trace['entered'][number]
      const tookMs = (entered[index + 1]?.at ?? endedAt) - at
      // It is come to twice: the audit stands between the look whether it can be, and the sending.
      if (stage === 'forward') {
        forwardMs += tookMs
        isForwarded = true
      } else series[stage].observe(tookMs / 1000)
    }
    if (isForwarded) series.forward.observe(forwardMs / 1000)
  }
}
