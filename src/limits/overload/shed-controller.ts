import { shedClasses, type ShedClass } from './shed-class.ts'

/**
 * How much must be refused, so that nobody waits for too long. It rises while the delay is over what it may be, the
 * faster the longer that is, and falls more slowly, so that it settles where just enough is let in.
 */
export interface ShedController {
  /** The delay as it is now; to be told at every tick. */
  observe(delayMs: number): void
  /** The share of the requests of a class that is refused, from 0 to 1. */
  shedRatio(of: ShedClass): number
}

const risePerTick = 0.1
/** However long the delay is, one tick is no proof of it. */
const maxRisePerTick = 0.4
const fallPerTick = 0.05
/** So much must gather before anything is refused: a short delay is none. */
const slack = 1

/** No pressure. Where it never goes away, the classes are refused one after the other. */
export function createShedController(maxDelayMs: number): ShedController {
  let pressure = 0
  return {
    observe(delayMs) {
      const rise = Math.min(maxRisePerTick, (risePerTick * delayMs) / maxDelayMs)
      const change = delayMs > maxDelayMs ? rise : -fallPerTick
      pressure = Math.min(slack + shedClasses.length, Math.max(0, pressure + change))
    },
    shedRatio: (of) => Math.min(1, Math.max(0, pressure - slack - shedClasses.indexOf(of))),
  }
}
