import { shedClasses, type ShedClass } from './shed-class.ts'

/** The ratio rises in proportion to the excess delay and falls more slowly, so that it converges. */
export interface ShedController {
  /** Must be called with the current delay at every tick. */
  observe(delayMs: number): void
  shedRatio(shedClass: ShedClass): number
}

const risePerTick = 0.1
/** A single tick is not conclusive, regardless of its delay. */
const maxRisePerTick = 0.4
const fallPerTick = 0.05
/** Excess that must accumulate before anything is refused: ignores short delays. */
const slack = 1

/** If the overload persists, the classes are shed one after the other. */
export function createShedController(maxDelayMs: number): ShedController {
  let pressure = 0
  return {
    observe(delayMs) {
      const rise = Math.min(maxRisePerTick, (risePerTick * delayMs) / maxDelayMs)
      const change = delayMs > maxDelayMs ? rise : -fallPerTick
      pressure = Math.min(slack + shedClasses.length, Math.max(0, pressure + change))
    },
    shedRatio: (shedClass) => Math.min(1, Math.max(0, pressure - slack - shedClasses.indexOf(shedClass))),
  }
}
