export interface LogThrottle {
  /** Undefined if the line is suppressed; else the number of suppressed lines of this kind since the last one. */
  take(kind: string): number | undefined
}

/** Kinds come from a closed set. */
export function createLogThrottle(perSecond: number): LogThrottle {
  const kinds = new Map<string, { second: number; passed: number; suppressed: number }>()
  return {
    take(kind) {
      const second = Math.floor(performance.now() / 1000)
      let state = kinds.get(kind)
      if (state === undefined) kinds.set(kind, (state = { second, passed: 0, suppressed: 0 }))
      if (state.second !== second) Object.assign(state, { second, passed: 0 })
      if (state.passed >= perSecond) {
        state.suppressed += 1
        return undefined
      }
      const { suppressed } = state
      state.passed += 1
      state.suppressed = 0
      return suppressed
    },
  }
}
