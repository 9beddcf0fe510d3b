import type { DurationHistogram } from '../../telemetry/duration-histogram.ts'
import { stages, type Trace } from '../trace.ts'

/** Counts how long each stage of a request took, when its last one is over. */
export function stageTimer(histogram: DurationHistogram): (trace: Trace) => void {
  // Found once: this runs for every request.
  const series = stages.map((stage) => ({ stage, durations: histogram.labels(stage) }))
  return (trace) => {
    for (const { stage, durations } of series) {
      const tookMs = trace.tookMs(stage)
      if (tookMs !== undefined) durations.observe(tookMs / 1000)
    }
  }
}
