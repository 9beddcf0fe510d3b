import type { IncomingRequest } from './incoming-request.ts'

const maxDrainBytes = 16 * 1024 * 1024
const drainTimeoutMs = 10_000

/**
 * Drains the rest of an unwanted body within limits: a client that is still sending reads its response only afterwards,
 * and the body precedes the next request on the connection.
 */
export function drainRequestBody(request: IncomingRequest): void {
  if (request.isComplete || request.isAborted) return
  let bytes = 0
  const timer = setTimeout(() => request.socket.destroy(), drainTimeoutMs).unref()
  const over = (): void => clearTimeout(timer)
  request.consume({
    onRequestData(chunk) {
      bytes += chunk.length
      if (bytes > maxDrainBytes) request.socket.destroy()
    },
    onRequestEnd: over,
    onRequestError: over,
  })
}
