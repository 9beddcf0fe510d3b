import type { Socket } from 'node:net'
import { ownedBy } from '../../lib/index.ts'
import type { BodySource } from '../codec/body-source.ts'
import { MessageWriter } from '../codec/message-writer.ts'
import type { SerializedHead } from './outgoing-request.ts'
import { TransportError } from './transport-error.ts'

export interface SendBodyHandler {
  onProgress(): void
  onSent(): void
  onError(error: Error): void
}

/** Fails if the body is not as long as its content-length. Returns a function that stops sending. */
export function sendBody(
  socket: Socket,
  { text, length }: SerializedHead,
  body: BodySource,
  handler: SendBodyHandler,
): () => void {
  let written = 0
  const stop = (): void => {
    socket.off('drain', onDrain)
    body.stop()
  }
  const fail = (error: Error): void => {
    stop()
    handler.onError(error)
  }
  const writer = new MessageWriter({ fail }, socket, text, length === undefined)
  const onDrain = ownedBy({ fail }, () => {
    handler.onProgress()
    body.resume()
  })
  socket.on('drain', onDrain)
  body.start({
    onData(chunk, release) {
      written += chunk.length
      if (length !== undefined && written > length) {
        release?.()
        fail(createLengthError('longer'))
      } else if (chunk.length === 0) {
        release?.()
      } else {
        if (!writer.write(chunk, release)) body.pause()
        handler.onProgress()
      }
    },
    onEnd() {
      if (length !== undefined && written < length) {
        fail(createLengthError('shorter'))
        return
      }
      writer.end()
      stop()
      handler.onSent()
    },
    onError: fail,
  })
  return stop
}

function createLengthError(comparison: 'longer' | 'shorter'): TransportError {
  return new TransportError('BAD_REQUEST', `the body of the request is ${comparison} than its content-length`)
}
