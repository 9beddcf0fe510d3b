import type { DurationHistogram } from '../../observability/metrics/duration-histogram.ts'
import { stages, type Trace } from '../trace.ts'

/** Creates a function that records the stage durations of a completed request. */
export function createStageTimer(histogram: DurationHistogram): (trace: Trace) => void {
  // Looked up once: this runs for every request.
  const series = stages.map((stage) => histogram.labels(stage))
  return ({ stageMs }) => {
    for (let index = 0; index < series.length; index += 1) {
      const ms = stageMs[index] ?? NaN
      if (!Number.isNaN(ms)) series[index]?.observe(ms / 1000)
    }
  }
}
