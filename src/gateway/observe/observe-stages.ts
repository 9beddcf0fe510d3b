import type { DurationHistogram } from '../../telemetry/duration-histogram.ts'
import { stages, type Trace } from '../trace.ts'

/** Counts how long each stage of a request took, when its last one is over. */
export function stageTimer(histogram: DurationHistogram): (trace: Trace) => void {
  // Found once: this runs for every request.
  const series = stages.map((stage) => histogram.labels(stage))
  return ({ stageMs }) => {
    for (let place = 0; place < series.length; place += 1) {
      const ms = stageMs[place] ?? NaN
      if (!Number.isNaN(ms)) series[place]?.observe(ms / 1000)
    }
  }
}
