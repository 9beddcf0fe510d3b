/** Work that can pause between its steps. */
export type Steps<Result> = Generator<void, Result, void>

/** Runs steps in slices of a holder. */
export type RunInSlices = <Result>(steps: Steps<Result>) => Promise<Result>

/** Maximum milliseconds of a slice before other events are served. */
const sliceMs = 5

export interface SliceOptions {
  /** Work of equal holders shares one turn of the event loop with that of each other holder. */
  readonly holder?: string | symbol
  /** Discards the work, paused or not: rejects with its reason. */
  readonly signal?: AbortSignal
}

/** Runs a step of the work, and returns whether it is over. */
type RunStep = () => boolean

/** The holder of work that is not done for a caller. */
const program = Symbol('program')

/** Paused work by holder, the holder that was served least recently first. The work of each is first in, first out. */
const paused = new Map<string | symbol, Set<RunStep>>()
/** Milliseconds that holders have used in this iteration of the event loop. */
const usedMs = new Map<string | symbol, number>()
let isScheduled = false

export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * Runs the steps in slices of a few milliseconds. All paused work shares one slice per event loop iteration, which goes to
 * each holder in turn, so that much work of one holder does not delay that of others.
 */
export function runInSlices<Result>(
  steps: Steps<Result>,
  { holder = program, signal }: SliceOptions = {},
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const discard = (): void => {
      remove(holder, runStep)
      reject(signal?.reason)
    }
    const runStep: RunStep = () => {
      try {
        const { done, value } = steps.next()
        if (done !== true) return false
        resolve(value)
      } catch (error) {
        reject(error)
      }
      signal?.removeEventListener('abort', discard)
      return true
    }
    if (signal?.aborted === true) {
      discard()
      return
    }
    signal?.addEventListener('abort', discard)
    const isOver = !paused.has(holder) && runSlice(holder, runStep)
    if (!isOver) pause(holder, runStep)
    schedule()
  })
}

/** Maps items as an array does, in slices. */
export function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  return runInSlices(mapSteps(items, map))
}

function* mapSteps<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
): Steps<Result[]> {
  const results: Result[] = []
  for (const [index, item] of items.entries()) {
    results.push(map(item, index))
    yield
  }
  return results
}

/** Runs steps while the holder has time in this iteration. Returns whether the work is over. */
function runSlice(holder: string | symbol, runStep: RunStep): boolean {
  const used = usedMs.get(holder) ?? 0
  const start = performance.now()
  let now = start
  let isOver = false
  while (!isOver && used + now - start < sliceMs) {
    isOver = runStep()
    now = performance.now()
  }
  usedMs.set(holder, used + now - start)
  return isOver
}

function pause(holder: string | symbol, runStep: RunStep): void {
  const work = paused.get(holder)
  if (work === undefined) paused.set(holder, new Set([runStep]))
  else work.add(runStep)
}

function remove(holder: string | symbol, runStep: RunStep): void {
  const work = paused.get(holder)
  work?.delete(runStep)
  if (work?.size === 0) paused.delete(holder)
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(runNext)
}

function runNext(): void {
  isScheduled = false
  usedMs.clear()
  const [next] = paused
  if (next === undefined) return
  const [holder, work] = next
  for (const runStep of work) {
    if (!runSlice(holder, runStep)) break
    work.delete(runStep)
  }
  // Behind the other holders.
  paused.delete(holder)
  if (work.size > 0) paused.set(holder, work)
  schedule()
}
