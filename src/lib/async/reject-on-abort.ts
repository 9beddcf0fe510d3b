/** Settles like `work`, or rejects when `signal` aborts; `work` itself may continue. */
export function rejectOnAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('timeout: the receiver did not respond'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject)
  })
}
