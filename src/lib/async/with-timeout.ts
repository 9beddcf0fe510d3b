import { toError } from '../errors/to-error.ts'

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
