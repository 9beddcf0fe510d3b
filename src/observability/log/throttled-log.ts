import type { Logger } from './gateway-log.ts'

/**
 * Returns what logs at most `perSecond` lines a second of each kind, which come from a closed set. A line has the number of
 * those of its kind that were suppressed before it.
 */
export function createThrottledLog(log: Logger, perSecond: number) {
  const kinds = new Map<string, { second: number; passed: number; suppressed: number }>()
  return (level: 'info' | 'warn' | 'error', kind: string, members: object, message: string): void => {
    const second = Math.floor(performance.now() / 1000)
    const state = kinds.get(kind) ?? { second, passed: 0, suppressed: 0 }
    kinds.set(kind, state)
    if (state.second !== second) Object.assign(state, { second, passed: 0 })
    if (state.passed >= perSecond) {
      state.suppressed += 1
      return
    }
    const { suppressed } = state
    state.passed += 1
    state.suppressed = 0
    log[level](suppressed > 0 ? { ...members, suppressed } : members, message)
  }
}
