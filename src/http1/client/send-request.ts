import { toError } from '../../lib/index.ts'
import { JoinedChunks } from '../codec/joined-chunks.ts'
import type { Http1Client } from './http1-client.ts'
import type { OutgoingRequest } from './outgoing-request.ts'

export interface BufferedResponse {
  readonly status: number
  readonly body: Buffer
}

/** Reads the response into memory. Rejects for a body of more than `maxBytes`, and on abort. */
export function sendRequest(
  client: Http1Client,
  request: OutgoingRequest,
  maxBytes: number,
  signal: AbortSignal,
): Promise<BufferedResponse> {
  return new Promise((resolve, reject) => {
    const chunks = new JoinedChunks()
    let bytes = 0
    let status = 0
    const abort = (): void => controller.abort(toError(signal.reason))
    const stopListening = (): void => signal.removeEventListener('abort', abort)
    const controller = client.dispatch(request, {
      onRequestStart: () => undefined,
      onResponseStart: (head) => (status = head.status),
      onResponseData(chunk, release) {
        bytes += chunk.length
        if (bytes > maxBytes) controller.abort(tooLarge(maxBytes))
        else chunks.add(release === undefined ? chunk : Buffer.from(chunk))
        release?.()
      },
      onResponseEnd(last) {
        stopListening()
        if (last !== undefined) chunks.add(Buffer.from(last))
        bytes += last?.length ?? 0
        if (bytes > maxBytes) reject(tooLarge(maxBytes))
        else resolve({ status, body: chunks.concat() })
      },
      onResponseError(error) {
        stopListening()
        reject(error)
      },
    })
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
  })
}

function tooLarge(maxBytes: number): Error {
  return new Error(`the response is larger than ${maxBytes} bytes`)
}
