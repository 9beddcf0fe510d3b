import type { IncomingRequest } from './incoming-request.ts'

const maxDrainBytes = 16 * 1024 * 1024
const drainTimeoutMs = 10_000

/** Reads and discards the rest of a body, which precedes the next request of the connection. */
export function drainRequestBody(request: IncomingRequest): void {
  if (request.isComplete || request.isAborted) return
  let bytes = 0
  const timer = setTimeout(() => request.destroy(), drainTimeoutMs).unref()
  const stopTimer = (): void => clearTimeout(timer)
  request.consume({
    releasesChunks: true,
    onRequestData(chunk, release) {
      release?.()
      bytes += chunk.length
      if (bytes > maxDrainBytes) request.destroy()
    },
    onRequestEnd: stopTimer,
    onRequestError: stopTimer,
  })
}
