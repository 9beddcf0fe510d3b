/**
 * Settles like the work, or rejects after so many milliseconds or at the signal: the work itself may then go on. An
 * answer that lay there while the process was busy with something else came in time.
 */
export function withTimeout<Value>(
  work: Promise<Value>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('aborted'))
    const late = (): void => reject(new Error(`timeout after ${timeoutMs} ms`))
    // Timers come before what has arrived, and what is immediate after it.
    const timer = setTimeout(() => setImmediate(late), timeoutMs)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
    work.finally(end).then(resolve, reject)
  })
}
