import { WebSocket } from 'ws'
import { clientBounds } from '../bounds.ts'

/** Of messages that one side has not taken yet: the other is not read meanwhile. */
const maxBufferedBytes = 1024 * 1024
const pollMs = 20

/**
 * Pauses a side while the other one has not taken its messages. If it takes none for the send timeout, its connection ends,
 * and with it the tunnel: what a reader that has left holds would stay for ever.
 */
export function holdBack(from: WebSocket, to: WebSocket, sendTimeoutMs = clientBounds.sendTimeoutMs): void {
  const isBehind = (): boolean =>
    to.readyState === WebSocket.CONNECTING ||
    (to.readyState === WebSocket.OPEN && to.bufferedAmount > maxBufferedBytes)
  if (from.isPaused || !isBehind()) return
  from.pause()
  let buffered = to.bufferedAmount
  let takenAt = performance.now()
  const timer = setInterval(() => {
    if (to.bufferedAmount !== buffered) takenAt = performance.now()
    buffered = to.bufferedAmount
    if (performance.now() - takenAt > sendTimeoutMs) to.terminate()
    if (isBehind()) return
    clearInterval(timer)
    from.resume()
  }, pollMs)
}
