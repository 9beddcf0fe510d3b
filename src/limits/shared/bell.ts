/** Wakes whoever waits for it; one that rang while nobody waited wakes the next who does. */
export interface Bell {
  readonly ring: () => void
  /** Resolves when it rings, or after so many milliseconds. */
  readonly rung: (ms: number) => Promise<void>
}

export function createBell(): Bell {
  let hasRung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      hasRung = true
      wake?.()
    },
    async rung(ms) {
      if (!hasRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      wake = undefined
      hasRung = false
    },
  }
}
