import type { DurationHistogram } from '../../observability/metrics/duration-histogram.ts'
import { stages, type Trace } from '../trace.ts'

/** Counts how long each stage of a request took, when its last one is over. */
export function createStageTimer(histogram: DurationHistogram): (trace: Trace) => void {
  // Found once: this runs for every request.
  const series = stages.map((stage) => histogram.labels(stage))
  return ({ stageMs }) => {
    for (let location = 0; location < series.length; location += 1) {
      const ms = stageMs[location] ?? NaN
      if (!Number.isNaN(ms)) series[location]?.observe(ms / 1000)
    }
  }
}
