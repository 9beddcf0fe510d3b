/** Wakes whoever waits for it; one that rang while nobody waited wakes the next who does. */
export interface Notifier {
  readonly notify: () => void
  /** Resolves when it rings, or after so many milliseconds. */
  readonly wait: (ms: number) => Promise<void>
}

export function createNotifier(): Notifier {
  let hasRung = false
  let wake: (() => void) | undefined
  return {
    notify() {
      hasRung = true
      wake?.()
    },
    async wait(ms) {
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
