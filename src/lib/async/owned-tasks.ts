import { toError } from '../errors.ts'

/** A request, a connection or a server that tasks belong to. */
export interface TaskOwner {
  /** A task of it has thrown, which is a fault of the program: ends it, and reports the error. */
  fail(error: Error): void
}

/**
 * Makes a task of an event, a timer or a tick: an error that it throws fails its owner, and ends neither the process nor
 * other tasks. The result is undefined then.
 */
export function ownedBy<Arguments extends unknown[], Result>(
  owner: TaskOwner,
  task: (...args: Arguments) => Result,
): (...args: Arguments) => Result | undefined {
  return (...args) => {
    try {
      return task(...args)
    } catch (error) {
      fail(owner, error)
      return undefined
    }
  }
}

function fail(owner: TaskOwner, error: unknown): void {
  try {
    owner.fail(toError(error))
  } catch {
    // Nothing is left that could end it.
  }
}

let scheduled: (() => void)[] = []

/**
 * Runs tasks in call order in the check phase of the event loop. Waking a blocked peer dominates the cost of a small
 * write, so writes are batched per tick.
 */
export function scheduleAtTickEnd(owner: TaskOwner, task: () => void): void {
  if (scheduled.push(ownedBy(owner, task)) === 1) setImmediate(runScheduled)
}

function runScheduled(): void {
  const tasks = scheduled
  scheduled = []
  for (const task of tasks) task()
}

/** Callbacks of one event of their owner. Cheaper than an EventEmitter; every request has two. */
export class CallbackList {
  readonly #owner: TaskOwner
  #callbacks: readonly (() => void)[] = []

  constructor(owner: TaskOwner) {
    this.#owner = owner
  }

  add(callback: () => void): void {
    this.#callbacks = [...this.#callbacks, callback]
  }

  /** A callback that is deleted during `call` may still be called. */
  delete(callback: () => void): void {
    this.#callbacks = this.#callbacks.filter((one) => one !== callback)
  }

  /** Calls all callbacks in insertion order, also those behind one that throws. */
  call(): void {
    for (const callback of this.#callbacks) ownedBy(this.#owner, callback)()
  }
}
