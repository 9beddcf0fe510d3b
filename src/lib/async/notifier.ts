/** Wakes the waiting task; a notification without one wakes the next `wait`. */
export interface Notifier {
  readonly notify: () => void
  /** Resolves on notification, or after `ms` milliseconds. */
  readonly wait: (ms: number) => Promise<void>
}

export function createNotifier(): Notifier {
  let isNotified = false
  let wake: (() => void) | undefined
  return {
    notify() {
      isNotified = true
      wake?.()
    },
    async wait(ms) {
      if (!isNotified) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      wake = undefined
      isNotified = false
    },
  }
}
