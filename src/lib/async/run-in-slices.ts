/** Work that can pause between its steps. */
export type Steps<Result> = Generator<void, Result, void>

/** Maximum milliseconds of a slice before other events are served. */
const sliceMs = 5

/** Next slices of all paused work, first in, first out. */
const paused: (() => void)[] = []
let isScheduled = false

export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Runs the steps in slices of a few milliseconds. All paused work shares one slice per event loop iteration. */
export function runInSlices<Result>(steps: Steps<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const runSlice = (): void => {
      const end = performance.now() + sliceMs
      try {
        do {
          const { done, value } = steps.next()
          if (done === true) {
            resolve(value)
            return
          }
        } while (performance.now() < end)
      } catch (error) {
        reject(error)
        return
      }
      pause(runSlice)
    }
    if (paused.length === 0) runSlice()
    else pause(runSlice)
  })
}

function pause(runSlice: () => void): void {
  paused.push(runSlice)
  if (isScheduled) return
  isScheduled = true
  setImmediate(runNext)
}

function runNext(): void {
  isScheduled = false
  const runSlice = paused.shift()
  runSlice?.()
  if (paused.length === 0 || isScheduled) return
  isScheduled = true
  setImmediate(runNext)
}
