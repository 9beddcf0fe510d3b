import { toError } from '../errors.ts'

interface BackoffBounds {
  /** The first delay, in milliseconds. */
  readonly minMs: number
  readonly maxMs: number
}

/**
 * Delays between attempts, in milliseconds: each is twice as long as the one before, up to a maximum. A random half is
 * taken off, so that processes that lost the same peer do not try again together.
 */
export class Backoff {
  readonly #bounds: BackoffBounds
  #delayMs: number

  constructor(bounds: BackoffBounds) {
    this.#bounds = bounds
    this.#delayMs = bounds.minMs
  }

  next(): number {
    const delayMs = this.#delayMs * (0.5 + Math.random() / 2)
    this.#delayMs = Math.min(this.#delayMs * 2, this.#bounds.maxMs)
    return delayMs
  }

  /** After a success, the next delay is the first one again. */
  reset(): void {
    this.#delayMs = this.#bounds.minMs
  }
}

/** Work took longer than its timeout. */
export class TimeoutExceeded extends Error {
  override readonly name = 'TimeoutExceeded'
}

/**
 * Settles like `work`, or rejects with TimeoutExceeded after `timeoutMs`, or when `signal` aborts; `work` itself may
 * continue. A result that arrived in time counts, even if the event loop was blocked.
 */
export function withTimeout<Value>(
  work: Promise<Value>,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(toError(signal?.reason))
    const late = (): void => reject(new TimeoutExceeded(`timeout after ${timeoutMs} ms`))
    // Timers run before pending I/O events, immediates after them.
    const timer = setTimeout(() => setImmediate(late), timeoutMs)
    if (signal?.aborted === true) abort()
    signal?.addEventListener('abort', abort, { once: true })
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    work.finally(end).then(resolve, reject)
  })
}

/** Closes resources in reverse order of opening. */
export class ClosingStack {
  readonly #closers: (() => unknown)[] = []
  #closing: Promise<void> | undefined

  push(close: () => unknown): void {
    this.#closers.push(close)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#closeAll())
  }

  async #closeAll(): Promise<void> {
    for (const close of this.#closers.toReversed()) await close()
  }
}
