import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import { LingeringClose, type LingerSlots } from '../http1/server/lingering-close.ts'

const checkIntervalMs = 1_000

/**
 * Reads and discards the rest of an upload while the client reads its response, within the limits of a lingering close.
 * Calls `onEnd` when the upload has ended, or at once if too many others linger.
 */
export function discardUpload(request: IncomingRequest, slots: LingerSlots, onEnd: () => void): void {
  const { client } = request.addresses
  if (!slots.acquire(client)) {
    onEnd()
    return
  }
  const close = new LingeringClose(performance.now())
  const timer = setInterval(() => {
    if (close.hasExpired(performance.now())) request.destroy()
  }, checkIntervalMs).unref()
  const end = (): void => {
    clearInterval(timer)
    slots.release(client)
    onEnd()
  }
  request.consume({
    onRequestData(chunk) {
      if (!close.discard(chunk.length)) request.destroy()
    },
    onRequestEnd: end,
    onRequestError: end,
  })
}
