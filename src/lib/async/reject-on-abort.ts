/** Settles like the work, or rejects at the signal: the work itself may then go on. */
export function rejectOnAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('timeout: the receiver did not respond'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject)
  })
}
