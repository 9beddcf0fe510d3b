import type { OutgoingRequest } from './request-head.ts'
import type { UpstreamClient } from './upstream-client.ts'

/** An answer in memory. */
export interface WholeAnswer {
  readonly status: number
  readonly body: Buffer
}

/** Sends a request and reads its answer, of so many bytes at most. Rejects when the signal says so, too. */
export function readWhole(
  client: UpstreamClient,
  request: OutgoingRequest,
  maximumBytes: number,
  signal: AbortSignal,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let bytes = 0
    let status = 0
    const giveUp = (): void => exchange.abort(signal.reason as Error)
    const settle = (): void => signal.removeEventListener('abort', giveUp)
    const exchange = client.send(request, {
      sending: () => undefined,
      head: (head) => (status = head.status),
      data(piece, giveBack) {
        bytes += piece.length
        if (bytes > maximumBytes) exchange.abort(tooLarge())
        else pieces.push(giveBack === undefined ? piece : Buffer.from(piece))
        giveBack?.()
      },
      end(last) {
        settle()
        if (last !== undefined) pieces.push(last)
        bytes += last?.length ?? 0
        // What comes last is copied here, before it is read into again.
        if (bytes > maximumBytes) reject(tooLarge())
        else resolve({ status, body: Buffer.concat(pieces) })
      },
      failed(error) {
        settle()
        reject(error)
      },
    })
    signal.addEventListener('abort', giveUp)
    if (signal.aborted) giveUp()
  })
}

function tooLarge(): Error {
  return new Error('the answer of the upstream is too large')
}
