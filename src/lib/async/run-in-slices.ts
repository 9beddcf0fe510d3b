/** Work that can pause between its steps. */
export type Steps<Result> = Generator<void, Result, void>

/** Milliseconds after which work in slices pauses, so that the event loop serves everything else. */
const sliceMs = 5

/** The next slices of everything that has paused, first come, first served. */
const paused: (() => void)[] = []
let isScheduled = false

/** Runs the steps to their result without a pause. */
export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * Runs the steps to their result in slices of a few milliseconds. All work that has paused shares one slice for each
 * turn of the event loop, however much of it there is.
 */
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
    // Most work ends within its first slice.
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
